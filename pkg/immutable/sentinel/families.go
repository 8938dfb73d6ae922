package sentinel

import (
	"slices"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
)

// Families are the families of a node and their members that it uses. It is not
// safe for concurrent use.
type Families struct {
	// members is by name, in the order in which they joined. The first is the
	// sentinel: of those who are left, its namespace has been on the node the
	// longest, and so is likely to stay.
	members map[string][]shape.Key
}

// New returns families of ConfigMaps with these names, without members.
func New(names []string) *Families {
	f := &Families{members: map[string][]shape.Key{}}
	for _, name := range names {
		f.members[name] = nil
	}
	return f
}

// Covers says whether the key would be a member of a family.
func (f *Families) Covers(key shape.Key) bool {
	_, ok := f.members[key.Name]
	return ok && key.Resource == shape.ConfigMaps
}

// Join makes a covered key a member. Joining again does nothing.
func (f *Families) Join(key shape.Key) {
	if f.Covers(key) && !slices.Contains(f.members[key.Name], key) {
		f.members[key.Name] = append(f.members[key.Name], key)
	}
}

// Leave ends a membership. If the key was the family's sentinel, heir is the
// next; ok is false if nothing changes or nobody is left.
func (f *Families) Leave(key shape.Key) (heir shape.Key, ok bool) {
	members := f.members[key.Name]
	i := slices.Index(members, key)
	if i < 0 {
		return shape.Key{}, false
	}
	members = slices.Delete(members, i, i+1)
	f.members[key.Name] = members
	if i > 0 || len(members) == 0 {
		return shape.Key{}, false
	}
	return members[0], true
}

// Sentinel says whether the key is the one that is watched for its family.
func (f *Families) Sentinel(key shape.Key) bool {
	members := f.members[key.Name]
	return len(members) > 0 && members[0] == key
}

// Member says whether the key has joined.
func (f *Families) Member(key shape.Key) bool {
	return slices.Contains(f.members[key.Name], key)
}

// Others are the members of the key's family without it.
func (f *Families) Others(key shape.Key) []shape.Key {
	others := slices.Clone(f.members[key.Name])
	return slices.DeleteFunc(others, func(k shape.Key) bool { return k == key })
}
