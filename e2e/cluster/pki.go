package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// pki is the certificate authority of one cluster: the API server's own
// certificate and all client certificates come from it.
type pki struct {
	ca    *x509.Certificate
	key   *ecdsa.PrivateKey
	caPEM []byte
	// saKey signs the tokens of service accounts.
	saKey []byte
}

func newPKI() (*pki, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	ca, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "lws-controller-test-ca"}, key)
	if err != nil {
		return nil, err
	}
	saKey, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return nil, err
	}
	caPEM := pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: ca.Raw})
	return &pki{ca: ca, key: key, caPEM: caPEM, saKey: saKey}, nil
}

// issue makes a certificate, with its key, that serves on the loopback address
// and identifies a client as user and groups.
func (p *pki) issue(user string, groups []string) (certPEM, keyPEM []byte, err error) {
	keyPEM, err = keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return nil, nil, err
	}
	parsed, err := keyutil.ParsePrivateKeyPEM(keyPEM)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: user, Organization: groups},
		NotBefore:    p.ca.NotBefore,
		NotAfter:     time.Now().AddDate(1, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		DNSNames:     []string{"localhost", "kubernetes.default.svc"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}, p.ca, parsed.(*ecdsa.PrivateKey).Public(), p.key)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der}), keyPEM, nil
}

// Names of the files that the components read.
const (
	caFile         = "ca.crt"
	servingCrtFile = "apiserver.crt"
	servingKeyFile = "apiserver.key"
	saKeyFile      = "service-accounts.key"
)

func (p *pki) write(dir string) error {
	crt, key, err := p.issue("kube-apiserver", nil)
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{caFile: p.caPEM, servingCrtFile: crt, servingKeyFile: key, saKeyFile: p.saKey} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}
