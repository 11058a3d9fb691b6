"""Hostile clients without a key: connections that occupy as much as they can and reconnect when they are closed."""
import select
import socket
import ssl
import threading

from raw import connect

UNKEYED = b"GET /v1/passes HTTP/1.1\r\nHost: x\r\n\r\n"
HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"  # the beginning of a TLS handshake


class Strangers:
    """Keeps `count` connections to `address`. Each sends `first`, then `more` every 50 ms, and is replaced when it
    ends. `tls` is a context for those that complete the handshake. `small` connections have the smallest receive
    buffers."""

    def __init__(self, address, count, first=b"", more=b"", tls=None, small=False):
        self.address, self.count, self.first, self.more, self.tls, self.small = address, count, first, more, tls, small
        self.held, self.stop, self.come = [], threading.Event(), 0
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
        for connection in self.held:
            connection.close()

    def run(self):
        while not self.stop.wait(0.02):
            self.held = [connection for connection in self.held if self.goes_on(connection)]
            while len(self.held) < self.count and not self.stop.is_set():
                try:
                    self.held.append(self.begin())
                except OSError:
                    break
                self.come += 1

    def begin(self):
        if self.small:
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            connection.settimeout(1)
            connection.connect(self.address)
        else:
            connection = connect(self.address, 1)
        try:
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_hostname="127.0.0.1")
            if self.first:
                connection.sendall(self.first)
        except OSError:
            connection.close()
            raise
        connection.setblocking(False)
        return connection

    def goes_on(self, connection):
        try:
            if self.more:
                connection.send(self.more)
            if self.small or not select.select([connection], [], [], 0)[0] or connection.recv(65536):
                return True
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return True
        except (OSError, ValueError):
            pass
        connection.close()
        return False
