package auth

import "net/http"

// Open guards what anybody may see, such as whether the server runs: only the
// Host is checked.
func (g *Guard) Open(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if no := g.checkHost(r); no != nil {
			g.refuse(w, r, no)
			return
		}
		next.ServeHTTP(w, r)
	})
}
