// Package podlogs reads names below the kubelet's pod log root:
//
//	/var/log/pods/NAMESPACE_POD_UID/CONTAINER/ATTEMPT.log
//	                                          ATTEMPT.log.20261130-090337
//	                                          ATTEMPT.log.20261130-090337.gz
//
// It reads directories and never writes, nor opens a file: links are planted,
// and names mean nothing until package safelink has looked behind them.
package podlogs
