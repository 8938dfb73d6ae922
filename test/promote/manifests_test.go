package promote

import "testing"

// TestManifests shares one API server, in which manifests/promote has been applied.
func TestManifests(t *testing.T) {
	c := startCluster(t)
	c.Apply(t, manifests)
	t.Run("the account has enough rights", func(t *testing.T) { accountIsEnough(t, c) })
	t.Run("the program itself", func(t *testing.T) { program(t, c) })
	t.Run("the account has no more", func(t *testing.T) { accountIsBound(t, c) })
	t.Run("born immutable", func(t *testing.T) { bornImmutable(t, c) })
	t.Run("a warning of many references", func(t *testing.T) { manyReferences(t, c) })
	t.Run("nodes read in a level of their own", func(t *testing.T) { nodesReadInTheirOwnLevel(t, c) })
	// Last, because it takes the account's rights away.
	t.Run("the account bound to one namespace", func(t *testing.T) { accountOfOneNamespace(t, c) })
}
