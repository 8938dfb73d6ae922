package kubeconfig

// file is the part of client-go's format that a kubelet's kubeconfig has
// (client-go tools/clientcmd/api/v1 types.go, v0.37).
type file struct {
	APIVersion     string         `json:"apiVersion,omitempty"`
	Kind           string         `json:"kind,omitempty"`
	Clusters       []namedCluster `json:"clusters"`
	Contexts       []namedContext `json:"contexts"`
	CurrentContext string         `json:"current-context"`
	Users          []namedUser    `json:"users"`
}

type namedCluster struct {
	Name    string  `json:"name"`
	Cluster cluster `json:"cluster"`
}

type cluster struct {
	Server             string `json:"server"`
	ServerName         string `json:"tls-server-name,omitempty"`
	Insecure           bool   `json:"insecure-skip-tls-verify,omitempty"`
	CAFile             string `json:"certificate-authority,omitempty"`
	CAData             []byte `json:"certificate-authority-data,omitempty"`
	ProxyURL           string `json:"proxy-url,omitempty"`
	DisableCompression bool   `json:"disable-compression,omitempty"`
}

type namedContext struct {
	Name    string        `json:"name"`
	Context configContext `json:"context"`
}

type configContext struct {
	Cluster   string `json:"cluster"`
	User      string `json:"user"`
	Namespace string `json:"namespace,omitempty"`
}

type namedUser struct {
	Name string `json:"name"`
	User user   `json:"user"`
}

type user struct {
	CertificateFile string `json:"client-certificate,omitempty"`
	CertificateData []byte `json:"client-certificate-data,omitempty"`
	KeyFile         string `json:"client-key,omitempty"`
	KeyData         []byte `json:"client-key-data,omitempty"`

	// What the proxy could not present upstream.
	Token           string         `json:"token,omitempty"`
	TokenFile       string         `json:"tokenFile,omitempty"`
	Username        string         `json:"username,omitempty"`
	Password        string         `json:"password,omitempty"`
	Impersonate     string         `json:"as,omitempty"`
	ImpersonateUID  string         `json:"as-uid,omitempty"`
	ImpersonateIn   []string       `json:"as-groups,omitempty"`
	ImpersonateMore map[string]any `json:"as-user-extra,omitempty"`
	AuthProvider    map[string]any `json:"auth-provider,omitempty"`
	Exec            map[string]any `json:"exec,omitempty"`
}
