package client

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"

	lwsv1 "lws-controller/api/v1"
)

// Sets reads and writes the LeaderWorkerSets of one namespace, or reads those
// of all.
type Sets = gentype.ClientWithList[*lwsv1.LeaderWorkerSet, *lwsv1.LeaderWorkerSetList]

// Client talks to the API server about LeaderWorkerSets.
type Client struct {
	rest rest.Interface
}

var (
	scheme         = runtime.NewScheme()
	parameterCodec = runtime.NewParameterCodec(scheme)
	codecs         = serializer.NewCodecFactory(scheme)
)

func init() {
	// The group of options like ListOptions; parameterCodec needs it.
	metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
	utilruntime.Must(lwsv1.AddToScheme(scheme))
}

// New returns a client with connections of its own. The configuration is
// copied; rate limits and user agent are the caller's.
func New(config *rest.Config) (*Client, error) {
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	return NewWithHTTPClient(config, httpClient)
}

// NewWithHTTPClient returns a client that shares the connections of h.
func NewWithHTTPClient(config *rest.Config, h *http.Client) (*Client, error) {
	c := rest.CopyConfig(config)
	c.APIPath = "/apis"
	c.GroupVersion = &lwsv1.SchemeGroupVersion
	c.NegotiatedSerializer = codecs.WithoutConversion()
	// Custom resources are not served as protobuf, which configurations for
	// built-in types often ask for.
	c.ContentType, c.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	if c.UserAgent == "" {
		c.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	r, err := rest.RESTClientForConfigAndClient(c, h)
	if err != nil {
		return nil, err
	}
	return NewForREST(r), nil
}

// NewForREST returns a client on r, which knows the API path and group: for
// tests that answer requests themselves.
func NewForREST(r rest.Interface) *Client { return &Client{rest: r} }

// LeaderWorkerSets is the access to the sets of a namespace; "" reads those of
// all namespaces.
func (c *Client) LeaderWorkerSets(namespace string) *Sets {
	return gentype.NewClientWithList(lwsv1.Resource, c.rest, parameterCodec, namespace,
		func() *lwsv1.LeaderWorkerSet { return &lwsv1.LeaderWorkerSet{} },
		func() *lwsv1.LeaderWorkerSetList { return &lwsv1.LeaderWorkerSetList{} })
}

// RESTClient is the client underneath, for what has no typed method.
func (c *Client) RESTClient() rest.Interface { return c.rest }
