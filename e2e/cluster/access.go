package cluster

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// URL of the API server.
func (c *Cluster) URL() string { return "https://" + c.slot.addr(portAPIServer) }

// base is a client configuration without an identity. It has no rate limit:
// what is under test sets its own.
func (c *Cluster) base() *rest.Config {
	return &rest.Config{
		Host:            c.URL(),
		TLSClientConfig: rest.TLSClientConfig{CAData: c.pki.caPEM},
		QPS:             -1,
	}
}

// ClientCert returns a client configuration for any user with any groups, made
// of a client certificate. The group system:masters may do everything; others
// have the rights that RBAC gives them.
func (c *Cluster) ClientCert(user string, groups ...string) (*rest.Config, error) {
	crt, key, err := c.pki.issue(user, groups)
	if err != nil {
		return nil, fmt.Errorf("client certificate of %s: %w", user, err)
	}
	cfg := c.base()
	cfg.CertData, cfg.KeyData = crt, key
	return cfg, nil
}

// Config returns the client configuration of the administrator, without rate
// limit, with the user agent given, by which Audit can tell clients apart.
func (c *Cluster) Config(userAgent string) *rest.Config {
	cfg := rest.CopyConfig(c.admin)
	cfg.UserAgent = userAgent
	return cfg
}

// ServiceAccount returns a client configuration that acts as a service account
// which exists, with a token of an hour.
func (c *Cluster) ServiceAccount(ctx context.Context, namespace, name string) (*rest.Config, error) {
	tr, err := c.client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name,
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("token of service account %s/%s: %w", namespace, name, err)
	}
	cfg := c.base()
	cfg.BearerToken = tr.Status.Token
	return cfg, nil
}

// Client is the administrator's client with the launcher's own user agent,
// LauncherAgent.
func (c *Cluster) Client() kubernetes.Interface { return c.client }

// Kubeconfig is the path of the administrator's kubeconfig. It goes with the
// cluster.
func (c *Cluster) Kubeconfig() string { return c.path("admin.kubeconfig") }

// Kubectl is the path of a kubectl of the cluster's version.
func (c *Cluster) Kubectl() string { return c.bin.Path("kubectl") }

// WriteKubeconfig writes a client configuration as a kubeconfig file.
func WriteKubeconfig(path string, cfg *rest.Config) error {
	const name = "lws"
	out := clientcmdapi.NewConfig()
	out.Clusters[name] = &clientcmdapi.Cluster{Server: cfg.Host, CertificateAuthorityData: cfg.CAData}
	out.AuthInfos[name] = &clientcmdapi.AuthInfo{
		ClientCertificateData: cfg.CertData, ClientKeyData: cfg.KeyData, Token: cfg.BearerToken,
	}
	out.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: "default"}
	out.CurrentContext = name
	if err := clientcmd.WriteToFile(*out, path); err != nil {
		return fmt.Errorf("writing kubeconfig: %w", err)
	}
	return nil
}
