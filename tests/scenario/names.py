"""A name server for tests on a loopback port. `names.addresses[name]` is a list of addresses, or a function that
returns the list for each query. Unknown names get NXDOMAIN. Names in `names.silent` get no answer, nor do queries
(name, kind) in it. Names in `names.failing` get SERVFAIL. Names in `names.late` get their answer after that many
seconds."""
import ipaddress
import socket
import struct
import threading

A, AAAA, SERVER_FAILED, NO_SUCH_NAME = 1, 28, 2, 3


class Names:
    def __init__(self, host="127.0.0.1", port=0):
        self.addresses, self.silent, self.failing, self.late, self.questions = {}, set(), set(), {}, []
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        # A receive buffer for a thousand queries: the kernel drops datagrams that do not fit.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self._socket.bind((host, port))
        self.host, self.port = self._socket.getsockname()
        self.address = f"{self.host}:{self.port}"
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ender:
            ender.sendto(b"", self._socket.getsockname())
        self._thread.join()
        self._socket.close()

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

    def _answer(self, question):
        at, labels = 12, []
        while question[at]:
            labels.append(question[at + 1:at + 1 + question[at]].decode())
            at += 1 + question[at]
        kind = struct.unpack("!H", question[at + 1:at + 3])[0]
        asked = question[12:at + 5]
        name = ".".join(labels).lower()
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
