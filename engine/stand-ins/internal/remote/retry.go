package remote

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// Waits between attempts grow by half from one to the next.
const (
	firstWait   = 100 * time.Millisecond
	longestWait = 5 * time.Second
)

// retried makes an attempt until one succeeds. Any failure is tried again, a wrong key as well as a closed port: so does the
// official provider. A limit below 0 is none.
func retried[T any](
	ctx context.Context, what string, limit int, note func(string), attempt func() (T, error),
) (result T, err error) {
	wait := firstWait
	for failures := 1; ; failures++ {
		if result, err = attempt(); err == nil {
			return result, nil
		}
		if limit >= 0 && failures > limit {
			return result, fmt.Errorf("after %d failed attempts: %w", failures-1, err)
		}
		note(fmt.Sprintf("%s %d/%s failed: retrying", what, failures, limitText(limit)))
		if err := sleep(ctx, wait); err != nil {
			return result, err
		}
		wait = min(wait*3/2, longestWait)
	}
}

func limitText(limit int) string {
	if limit < 0 {
		return "inf"
	}
	return strconv.Itoa(limit)
}

// sleep ends early with the context, and says why.
func sleep(ctx context.Context, wait time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(wait):
		return nil
	}
}
