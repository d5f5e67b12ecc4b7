package client

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestAPauseEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := Pause(t.Context(), time.Minute); err != nil || time.Since(began) != time.Minute {
			t.Errorf("it took %s and returned %v", time.Since(began), err)
		}
		stop := errors.New("stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(stop) })
		began = time.Now()
		if err := Pause(ctx, time.Minute); !errors.Is(err, stop) || time.Since(began) != time.Second {
			t.Errorf("it took %s and returned %v", time.Since(began), err)
		}
	})
}
