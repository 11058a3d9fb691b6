"""A name server for tests on a loopback port. `names.addresses[name]` is a list of addresses, or a function that
returns the list for each query. Unknown names get NXDOMAIN. Names in `names.silent` get no answer, nor do queries
(name, kind) in it. Names in `names.failing` get SERVFAIL. Names in `names.late` get their answer after that many
seconds. Names in `names.truncated` get an empty answer by UDP that refers to TCP. TCP is refused until serve_tcp(). Then names
in `names.silent_by_tcp` get no answer by TCP, and for those in `names.closing` the connection is closed."""
import contextlib
import ipaddress
import socket
import struct
import threading

A, AAAA, SERVER_FAILED, NO_SUCH_NAME = 1, 28, 2, 3
SO_RCVBUFFORCE = 33  # Linux: beyond the system's limit, for root


def make_room(udp):
    """A receive buffer for thousands of queries: the kernel drops datagrams that do not fit."""
    for option in (socket.SO_RCVBUF, SO_RCVBUFFORCE):
        with contextlib.suppress(PermissionError):
            udp.setsockopt(socket.SOL_SOCKET, option, 4 << 20)


class Names:
    def __init__(self, host="127.0.0.1", port=0):
        self.addresses, self.silent, self.failing, self.late, self.questions = {}, set(), set(), {}, []
        self.truncated, self.silent_by_tcp, self.closing, self.tcp_questions = set(), set(), set(), []
        self._socket, self._listener = self._bind(host, port)
        make_room(self._socket)
        self.host, self.port = self._socket.getsockname()
        self.address = f"{self.host}:{self.port}"
        self._streams = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @staticmethod
    def _bind(host, port):
        """Sockets for UDP and TCP at one port. TCP is refused until the socket listens."""
        while True:
            udp, tcp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket()
            udp.bind((host, port))
            try:
                tcp.bind(udp.getsockname())
                return udp, tcp
            except OSError:
                udp.close()
                tcp.close()
                if port:
                    raise

    def close(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ender:
            ender.sendto(b"", self._socket.getsockname())
        self._thread.join()
        self._socket.close()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for stream in self._streams:
            stream.close()

    def serve_tcp(self):
        self._listener.listen(4096)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                stream, _ = self._listener.accept()
            except OSError:
                return
            self._streams.append(stream)
            threading.Thread(target=self._serve, args=(stream,), daemon=True).start()

    def _serve(self, stream):
        """Answers each query of a connection."""
        try:
            with stream.makefile("rb") as reader:
                while size := reader.read(2):
                    question = reader.read(struct.unpack("!H", size)[0])
                    name, _, _ = self._read(question)
                    self.tcp_questions.append(name)
                    if name in self.closing:
                        stream.shutdown(socket.SHUT_RDWR)
                        return
                    said = self._answer(question, by_tcp=True)[0]
                    if said and name not in self.silent_by_tcp:
                        stream.sendall(struct.pack("!H", len(said)) + said)
        except OSError:
            pass  # the connection was reset

    def _run(self):
        while True:
            question, client = self._socket.recvfrom(4096)
            if not question:
                return
            said, seconds = self._answer(question)
            if said and seconds:
                threading.Timer(seconds, self._say, (said, client)).start()
            elif said:
                self._socket.sendto(said, client)

    def _say(self, said, client):
        try:
            self._socket.sendto(said, client)
        except OSError:
            pass  # the socket was closed during the wait

    @staticmethod
    def _read(question):
        at, labels = 12, []
        while question[at]:
            labels.append(question[at + 1:at + 1 + question[at]].decode())
            at += 1 + question[at]
        kind = struct.unpack("!H", question[at + 1:at + 3])[0]
        asked = question[12:at + 5]
        return ".".join(labels).lower(), kind, asked

    def _answer(self, question, by_tcp=False):
        name, kind, asked = self._read(question)
        if not by_tcp and name in self.truncated:
            self.questions.append((name, kind))
            return question[:2] + struct.pack("!HHHHH", 0x8380, 1, 0, 0, 0) + asked, self.late.get((name, kind), 0)
        self.questions.append((name, kind))
        silent = {one for one in self.silent if isinstance(one, str)}
        if name in silent or (name, kind) in self.silent or any(name.endswith("." + tail) for tail in silent):
            return None, 0
        known = self.addresses.get(name)
        addresses = [ipaddress.ip_address(one) for one in (known() if callable(known) else known or [])]
        fitting = [one for one in addresses if (one.version == 4) == (kind == A) and kind in (A, AAAA)]
        failed = name in self.failing or (name, kind) in self.failing
        flags = 0x8180 | (SERVER_FAILED if failed else 0 if known is not None else NO_SUCH_NAME)
        fitting = [] if failed else fitting
        said = struct.pack("!HHHHHH", struct.unpack("!H", question[:2])[0], flags, 1, len(fitting), 0, 0) + asked
        for one in fitting:
            said += struct.pack("!HHHIH", 0xC00C, kind, 1, 1, len(one.packed)) + one.packed
        return said, self.late.get((name, kind), 0)
