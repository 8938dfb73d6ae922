// Package wire reads and writes what an API server and a kubelet say to each
// other about one Secret or one ConfigMap: lists, watch events, bookmarks and
// refusals.
//
//	upstream, always protobuf     DecodeList, EventReader, DecodeStatus
//	to the kubelet, as it asked   Negotiate, EncodeList, EncodeEvent, EncodeBookmark, EncodeStatus, EncodeErrorEvent, WriteList
//
// An Object is the server's own protobuf message with the few fields beside it
// that a decision needs. It is read field by field and never rebuilt from Go
// types, so that a field which this release has not heard of reaches the
// kubelet byte for byte. JSON, which a kubelet asks for only when it is told
// to, goes through the types of k8s.io/api and knows the fields of that release.
//
// Nothing here keeps a caller's buffer, and nothing here prints an object's
// data: neither errors nor the printed form of an Object.
package wire
