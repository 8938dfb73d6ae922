// Package pin knows the kubelet by its client certificate. Every process on the
// node can connect to 127.0.0.1, so that the proxy serves only who holds the
// very certificate that the kubelet has in files that only root reads; the
// proxy itself shows that certificate to the API server.
//
// It compares the certificate as a whole. No authority is asked: another
// certificate of the same node, or an administrator's, is a stranger's.
package pin
