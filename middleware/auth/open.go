package auth

import (
	"net/http"
	"net/netip"
)

// Open guards what anybody may see, such as whether the server runs: only a Host
// that is a name is checked. Kubelets and load balancers know an address; a page
// that was rebound (DNS rebinding) has a name.
func (g *Guard) Open(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := hostname(r.Host)
		_, err := netip.ParseAddr(name)
		if no := g.checkHost(r); no != nil && name != "" && err != nil {
			g.refuse(w, r, no)
			return
		}
		next.ServeHTTP(w, r)
	})
}
