package main

import (
	"regexp"
	"sync"
)

// containerID is what CRI-O names containers by.
var containerID = regexp.MustCompile(`[0-9a-f]{64}`)

// created remembers the requests that created containers.
type created struct {
	mu       sync.Mutex // guards requests
	requests map[string][]byte
}

// note takes the answer to a CreateContainer: its only field is the ID.
func (c *created) note(request, response []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id := containerID.Find(response); id != nil {
		c.requests[string(id)] = request
	}
}

// subject is a request with those that created what it names.
func (c *created) subject(request []byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := append([]byte(nil), request...)
	for _, id := range containerID.FindAll(request, -1) {
		all = append(all, c.requests[string(id)]...)
	}
	return all
}
