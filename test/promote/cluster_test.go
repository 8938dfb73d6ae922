package promote

import (
	"testing"

	"github.com/nodekeeper/nodekeeper/test/apiserver"
)

const manifests = "../../manifests/promote"

// cluster is an etcd and an API server of the test's own.
type cluster struct{ *apiserver.Server }

func startCluster(t *testing.T) *cluster {
	t.Helper()
	return &cluster{apiserver.Start(t)}
}
