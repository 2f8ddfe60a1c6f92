package batch

import (
	"encoding/json"
	"strconv"
)

// fill puts into the answer's value what fits of the items.
func (r *Result[Out]) fill(a *answer[Out], raws []json.RawMessage) {
	limit := r.output.MaxBytes
	head, err := json.Marshal(a.Output)
	if err != nil {
		return // cannot be: there are only counts and texts in it
	}
	limit = max(0, limit-len(head)-256) // 256 for the names of the lists and the counts of what is omitted

	var (
		retry, check list[any]
		failed       list[OutputError]
		rest         list[OutputItem[Out]]
	)
	send := func(l *list[any], index int) {
		if l.wants(limit) {
			raw := r.sent(index)
			l.add(raw, len(raw)+1)
		}
		l.total++
	}
	for i := range r.Items {
		item := &r.Items[i]
		if item.again() {
			send(&retry, i)
		} else if item.check() {
			send(&check, i)
		}
		if item.Status == Failed && r.output.Mode != ModeSummary {
			if failed.wants(limit) {
				failed.add(r.outputError(item))
			}
			failed.total++
		}
		if item.Status != Failed && r.output.Mode == ModeAll {
			if rest.wants(limit) {
				out := OutputItem[Out]{Index: item.Index, Key: item.Key, Status: item.Status.String()}
				if item.Status == Succeeded {
					out.Value, out.raw = item.Value, raws[i]
				}
				rest.add(out, len(encode(item.Key))+len(out.raw)+64)
			}
			rest.total++
		}
	}
	fit(limit, &retry.room, &check.room, &failed.room, &rest.room)
	a.RetryItems, a.CheckItems, a.Errors, a.Results = retry.fits(), check.fits(), failed.fits(), rest.fits()
	omitted := Omitted{Results: rest.missing(), Errors: failed.missing(), RetryItems: retry.missing(), CheckItems: check.missing()}
	if omitted != (Omitted{}) {
		omitted.MaxBytes = r.output.MaxBytes
		a.Omitted = &omitted
	}
}

// A list is a list in an answer.
type list[T any] struct {
	room
	items []T // the first ones
}

func (l *list[T]) add(item T, size int) {
	l.items = append(l.items, item)
	l.sizes = append(l.sizes, size)
	l.used += size
}

// fits returns what of the list is in the answer.
func (l *list[T]) fits() []T { return l.items[:l.kept:l.kept] }

// room is how much room a list wants and gets.
type room struct {
	sizes []int // of the first items, in bytes
	used  int   // their sum
	total int   // also those that are not measured, because they cannot fit
	kept  int
}

func (r *room) wants(limit int) bool { return r.used <= limit }

func (r *room) missing() int { return r.total - r.kept }

// fit says how much of each list is kept: of the first ones before the later ones, but
// at most half of what is left as long as the later ones want the rest.
func fit(limit int, lists ...*room) {
	for i, l := range lists {
		later := 0
		for _, other := range lists[i+1:] {
			later += other.used
		}
		may, used := max(limit/2, limit-later), 0
		if i == len(lists)-1 {
			may = limit
		}
		for l.kept < len(l.sizes) && used+l.sizes[l.kept] <= may {
			used += l.sizes[l.kept]
			l.kept++
		}
		limit -= used
	}
}

// sent returns what the caller sends for an item, as JSON.
func (r *Result[Out]) sent(index int) json.RawMessage {
	raw, err := marshal(r.send(index))
	if key := r.Items[index].Key; err != nil && key != "" {
		raw, err = marshal(key)
	}
	if err != nil {
		return json.RawMessage(strconv.Itoa(index))
	}
	return raw
}

// outputError returns a failed item as it stands in an answer, and its size.
func (r *Result[Out]) outputError(item *Item[Out]) (OutputError, int) {
	var members OutputError
	raw, err := json.Marshal(item.Err)
	if err == nil {
		err = json.Unmarshal(raw, &members)
	}
	if err != nil || members == nil { // cannot be: a fault holds only what JSON can hold
		members = OutputError{"type": item.Err.Kind(), "message": item.Err.Message()}
	}
	members["index"], members["recoverable"] = item.Index, item.Recoverable
	if item.Key != "" {
		members[r.keyName] = item.Key
	}
	return members, len(raw) + len(encode(r.keyName)) + len(encode(item.Key)) + 48
}
