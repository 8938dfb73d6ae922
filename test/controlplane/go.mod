// An etcd and an API server for the tests of every other module: the standard
// library only, so that each of those chooses what else it links.
module github.com/nodekeeper/nodekeeper/test/controlplane

go 1.26.0
