package nri

import (
	"context"
	"fmt"
	"log/slog"
)

// stubLog gives the stub's own talk to slog. All of it is Debug: what matters of
// it comes back as an error, which the Source logs once.
type stubLog struct{ log *slog.Logger }

func (l stubLog) Debugf(ctx context.Context, format string, args ...any) { l.say(ctx, format, args) }
func (l stubLog) Infof(ctx context.Context, format string, args ...any)  { l.say(ctx, format, args) }
func (l stubLog) Warnf(ctx context.Context, format string, args ...any)  { l.say(ctx, format, args) }
func (l stubLog) Errorf(ctx context.Context, format string, args ...any) { l.say(ctx, format, args) }

func (l stubLog) say(ctx context.Context, format string, args []any) {
	if l.log.Enabled(ctx, slog.LevelDebug) {
		l.log.DebugContext(ctx, "NRI stub: "+fmt.Sprintf(format, args...))
	}
}
