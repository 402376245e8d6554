// Package worker drives operations through their lifecycle: it claims, sends, observes and delivers.
package worker
