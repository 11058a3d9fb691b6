"""PostgreSQL in a temporary cluster below the directory of a measuring program.

It listens only on a socket in its own directory. The caller's settings override those here.
"""

import glob
import os
import pwd
import shutil
import subprocess
import time

import bench
from bench import Failed

SETTINGS = {"listen_addresses": "", "shared_buffers": "2GB", "maintenance_work_mem": "1GB", "max_wal_size": "4GB",
            "jit": "off", "random_page_cost": "1.1"}
INSTALL = "apt-get install postgresql"


def is_installed():
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        return False
    return bool(glob.glob("/usr/lib/postgresql/*/bin/initdb"))


def demand_way_to(directory):
    """As root PostgreSQL runs as another user, who must be able to enter the parents of `directory`."""
    parent = os.path.dirname(directory)
    if os.getuid() != 0 or not is_installed():
        return
    if subprocess.run(["runuser", "-u", "postgres", "--", "test", "-x", parent], check=False, cwd="/").returncode:
        raise Failed(f"PostgreSQL's user cannot enter {parent}; name a directory with --dir that everybody may enter")


class Cluster:
    """A running server, and an open session of psql with it."""

    def __init__(self, directory, settings):
        self.bin = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        self.place = f"{directory}/postgresql"
        os.mkdir(self.place)
        self.user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        if self.user:
            shutil.chown(self.place, "postgres")
            os.chmod(directory, 0o755)
        self.run("initdb", "-D", f"{self.place}/data", "-E", "UTF8", "--locale=C.UTF-8", "-A", "trust",
                 "-U", "postgres")
        words = [word for name, value in {**SETTINGS, **settings}.items() for word in ("-c", f"{name}={value}")]
        command = [*self.user, f"{self.bin}/postgres", "-D", f"{self.place}/data", "-k", self.place, *words]
        self.server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       start_new_session=True, preexec_fn=bench.before_exec)
        bench.children.append(self.server)
        self.await_server()
        self.psql = subprocess.Popen([f"{self.bin}/psql", "-X", "-q", "-A", "-t", "-h", self.place, "-U", "postgres"],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                     cwd=self.place, preexec_fn=bench.before_exec)
        bench.children.append(self.psql)  # ends before the server, which waits for its clients

    def run(self, program, *words):
        done = subprocess.run([*self.user, f"{self.bin}/{program}", *words], cwd=self.place, capture_output=True,
                              text=True, check=False)
        if done.returncode:
            raise Failed(f"{program}: {done.stderr.strip()}")

    def await_server(self):
        deadline = time.monotonic() + bench.READY_SECONDS_MAX
        while subprocess.run([f"{self.bin}/pg_isready", "-q", "-h", self.place], check=False).returncode:
            if time.monotonic() > deadline or self.server.poll() is not None:
                raise Failed("PostgreSQL does not get ready")
            time.sleep(0.05)

    def say_sql(self, text):
        """Runs SQL and returns the complete output."""
        self.psql.stdin.write(text + "\n\\echo done\n")
        self.psql.stdin.flush()
        lines = []
        while (line := self.psql.stdout.readline()) != "done\n":
            if not line or "ERROR" in line:
                raise Failed(f"PostgreSQL: {line.strip() or 'gone'}")
            lines.append(line)
        return lines
