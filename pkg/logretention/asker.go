package logretention

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

const (
	// askers ask the runtime at a time: CRI-O takes seconds for some records,
	// and others cannot wait.
	askers = 3
	// askTime bounds one call.
	askTime = 6 * time.Second
	// patience bounds the wait for the runtime to take notice of an exit that
	// conmon has told; repeat is the time between two calls meanwhile.
	patience = 3 * time.Second
	repeat   = 100 * time.Millisecond
	// questions and answers that wait.
	asked = 256
)

// question is about one container. Record is what is known to be final of it,
// so that only conmon's files are to be read.
type question struct {
	id, bundle string
	record     *node.Container
}

// answer is what the runtime and conmon's files say. Exactly one of container,
// gone and err is set.
type answer struct {
	id        string
	container *node.Container
	gone      bool
	err       error
	files     exitFiles
}

// asker asks beside the owner, who sends questions with ask and receives
// answers.
type asker struct {
	storage   string
	status    func(ctx context.Context, id string) (node.Container, error)
	questions chan question
	answers   chan answer
}

func newAsker(storage string, status func(ctx context.Context, id string) (node.Container, error)) *asker {
	return &asker{storage: storage, status: status, questions: make(chan question, asked), answers: make(chan answer)}
}

// ask never blocks; false means to ask again later.
func (a *asker) ask(q question) bool {
	select {
	case a.questions <- q:
		return true
	default:
		return false
	}
}

func (a *asker) run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	for range askers {
		all.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case q := <-a.questions:
					out := a.answer(ctx, q)
					select {
					case a.answers <- out:
					case <-ctx.Done():
						return
					}
				}
			}
		})
	}
}

func (a *asker) answer(ctx context.Context, q question) answer {
	// The files first: the kubelet may be about to have them removed.
	out := answer{id: q.id, files: readExitFiles(a.storage, q.bundle, q.id)}
	if q.record != nil {
		out.container = q.record
		return out
	}
	ctx, cancel := context.WithTimeout(ctx, askTime+patience)
	defer cancel()
	pause := time.NewTicker(repeat)
	defer pause.Stop()
	for tries := 0; ; tries++ {
		out.container, out.gone, out.err = a.call(ctx, q.id)
		if out.files.Code == nil {
			out.files = readExitFiles(a.storage, q.bundle, q.id)
		}
		noticed := out.container == nil || out.container.State != node.ContainerRunning
		if noticed || out.files.Code == nil || tries >= int(patience/repeat) {
			return out
		}
		select {
		case <-ctx.Done():
			return out
		case <-pause.C:
		}
	}
}

func (a *asker) call(ctx context.Context, id string) (c *node.Container, gone bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	found, err := a.status(ctx, id)
	switch {
	case errors.Is(err, ErrNoRecord):
		return nil, true, nil
	case err != nil:
		return nil, false, err
	}
	return &found, false, nil
}
