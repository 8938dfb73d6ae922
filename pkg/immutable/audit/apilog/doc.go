// Package apilog counts in the API server's audit log what nodes asked about
// Secrets and ConfigMaps.
//
// The API server writes an event for each stage of a request. Where there are
// events of stage RequestReceived, those are the requests: each has one, at the
// moment of its receipt. A policy may omit that stage (OpenShift's does); then
// ResponseStarted counts watches, and ResponseComplete all else. A watch has its
// ResponseComplete when it ends, half an hour later or more.
package apilog
