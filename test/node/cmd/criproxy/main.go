// Command criproxy stands between the kubelet and CRI-O. It passes every call
// on without knowing what is in it, and misbehaves as the fault files say: see
// package fault. A rule's text is looked for in the bytes of the request, where
// container IDs and names stand as they are, and in those of the request that
// created the container: a start names its ID alone.
//
//	criproxy LISTEN-SOCKET CRI-SOCKET FAULT-DIR
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/nodekeeper/nodekeeper/test/node/fault"
)

// maxMessage is the kubelet's own limit for messages of CRI.
const maxMessage = 16 << 20

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: criproxy LISTEN-SOCKET CRI-SOCKET FAULT-DIR")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "criproxy:", err)
		os.Exit(1)
	}
}

func run(listen, cri, faultDir string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := os.Remove(listen); err != nil && !os.IsNotExist(err) {
		return err
	}
	listener, err := net.Listen("unix", listen)
	if err != nil {
		return err
	}
	connection, err := grpc.NewClient("unix://"+cri, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(bytesCodec{}), grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)))
	if err != nil {
		return err
	}
	defer connection.Close()
	proxy := &proxy{cri: connection, faultDir: faultDir, created: &created{requests: map[string][]byte{}}}
	server := grpc.NewServer(grpc.ForceServerCodec(bytesCodec{}), grpc.UnknownServiceHandler(proxy.handle),
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage))
	go func() {
		<-ctx.Done()
		server.Stop()
	}()
	return server.Serve(listener)
}

type proxy struct {
	cri      *grpc.ClientConn
	faultDir string
	created  *created
}

// handle serves one call, of any method and either kind of stream.
func (p *proxy) handle(_ any, kubelet grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(kubelet)
	var request []byte
	if err := kubelet.RecvMsg(&request); err != nil {
		return err
	}
	if err := p.misbehave(kubelet.Context(), path.Base(method), request); err != nil {
		return err
	}
	// Its deadline is passed on, its headers are not: CRI has none, and those
	// of the connection itself would be refused.
	ctx, cancel := context.WithCancel(kubelet.Context())
	defer cancel()
	description := &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	runtime, err := p.cri.NewStream(ctx, description, method)
	if err != nil {
		return err
	}
	// Every method of CRI has exactly one request.
	if err := runtime.SendMsg(&request); err != nil && err != io.EOF {
		return err
	}
	if err := runtime.CloseSend(); err != nil {
		return err
	}
	for {
		var response []byte
		if err := runtime.RecvMsg(&response); err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
		if path.Base(method) == "CreateContainer" {
			p.created.note(request, response)
		}
		if err := kubelet.SendMsg(&response); err != nil {
			return err
		}
	}
}

func (p *proxy) misbehave(ctx context.Context, method string, request []byte) error {
	rule, found, err := fault.Take(p.faultDir, method, string(p.created.subject(request)))
	if err != nil {
		return status.Error(codes.Internal, "read fault rules: "+err.Error())
	}
	if !found {
		return nil
	}
	if rule.Action == fault.Fail {
		return status.Error(codeOf(rule.Code), "injected fault")
	}
	if err := fault.Wait(ctx, p.faultDir, method, rule); err != nil {
		return status.FromContextError(err).Err()
	}
	return nil
}
