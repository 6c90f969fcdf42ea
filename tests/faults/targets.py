"""Where the uploader is told to upload to by hand: a folder, a command, and an S3 server of the tests' own, with keys
that come from the environment, a command or a role. What has arrived is shown as files in `there`."""

import atexit
import functools
import http.server
import json
import pathlib
import shutil
import socket
import sys
import tempfile
import threading
import urllib.parse

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "upload"))

# The path above comes first: what is imported here lies there.
import s3_server  # noqa: E402
from servers import S3Server  # noqa: E402

BUCKET = "traces"
UNJOINED = "unjoined"


class Folder:
    RESUME = ()

    def words(self, place):
        return ["--to", f"{place.path}/there/"]

    def variables(self, _place):
        return {}

    def fetch(self, place):
        """What has arrived is in `there` already."""


class Command(Folder):
    RESUME = ("--allow-commands",)

    def words(self, place):
        (place.path / "there").mkdir()
        return ["--to", f"exec:cp {{}} '{place.path}/there/'"]


class HangingCommand(Folder):
    """The first time, for longer than it may."""

    RESUME = ("--allow-commands",)

    def words(self, place):
        (place.path / "there").mkdir()
        script = place.path / "copy.sh"
        script.write_text(f"mkdir '{place.path}/hung' 2>/dev/null && exec sleep 10\n"
                          f"exec cp \"$1\" '{place.path}/there/'\n")
        return ["--to", f"exec:sh {script} {{}}"]


class Queued(Folder):
    """What is in the queue tells where to."""

    def words(self, place):
        return []


@functools.cache
def server():
    """One for all cells, each with a folder of its own in the bucket. It ends with this process."""
    folder = tempfile.mkdtemp(prefix="traceagent-faults-s3-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    started = S3Server(folder).start()
    atexit.register(started.kill)
    return started


def text_of(path):
    """Nothing of one that has gone meanwhile: other cells' parts."""
    try:
        return path.read_text()
    except FileNotFoundError:
        return ""


class S3(Folder):
    """Keys by the environment."""

    def words(self, place):
        return ["--to", f"s3://{BUCKET}/{place.path.name}/"]

    def variables(self, place):
        return server().variables() | {"HOME": f"{place.path}/home"}

    def fetch(self, place):
        """Parts that nobody has joined are shown beside."""
        there = place.path / "there"
        there.mkdir(exist_ok=True)
        for path in (server().folder / "objects").glob(f"{BUCKET}%2F{place.path.name}%2F*"):
            name = urllib.parse.unquote(path.name).rpartition("/")[2]
            if not path.name.endswith(".meta") and ".tmp" not in path.name:
                (there / name).write_bytes(path.read_bytes())
        shutil.rmtree(place.path / UNJOINED, ignore_errors=True)
        (place.path / UNJOINED).mkdir()
        for number, path in enumerate((server().folder / "parts").iterdir()):
            if f'"{BUCKET}/{place.path.name}/' in text_of(path / "about"):
                (place.path / UNJOINED / str(number)).touch()


class NamedS3(S3):
    """By this machine's name, where that is one of its own address; else there is nothing to look up."""

    def variables(self, place):
        known = super().variables(place)
        return known | {"AWS_ENDPOINT_URL": known["AWS_ENDPOINT_URL"].replace("127.0.0.1", own_name())}


def own_name():
    try:
        return socket.gethostname() if socket.gethostbyname(socket.gethostname()) == "127.0.0.1" else "127.0.0.1"
    except OSError:
        return "127.0.0.1"


class KeysOfFile(S3):
    """By a profile of a file; what it says is each heir's own."""

    def variables(self, place):
        config = place.path / "home/config"
        config.parent.mkdir(exist_ok=True)
        config.write_text(f"[profile p]\nregion = {s3_server.REGION}\n{self.profile(place)}\n")
        kept = {name: value for name, value in super().variables(place).items() if "KEY" not in name}
        return kept | {"AWS_PROFILE": "p", "AWS_CONFIG_FILE": config}

    def profile(self, place):
        raise NotImplementedError


KEYS = {"AccessKeyId": s3_server.KEY, "SecretAccessKey": s3_server.SECRET}


class KeysOfCommand(KeysOfFile):
    def profile(self, place):
        path = place.path / "home/keys.json"
        path.write_text(json.dumps(KEYS | {"Version": 1}))
        return f"credential_process = cat '{path}'"


class TokenService(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    FIELDS = "".join(f"<{name}>{value}</{name}>" for name, value in KEYS.items())
    ANSWER = f"<R><Credentials>{FIELDS}<Expiration>2100-01-01T00:00:00Z</Expiration></Credentials></R>".encode()

    def log_message(self, *_):
        pass

    def do_POST(self):
        form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        is_known = form.get("WebIdentityToken") == "the-token"
        self.send_response(200 if is_known else 403)
        answer = self.ANSWER if is_known else b"<E><Error><Code>AccessDenied</Code></Error></E>"
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


@functools.cache
def token_service():
    service = http.server.ThreadingHTTPServer(("127.0.0.1", 0), TokenService)
    service.daemon_threads = True
    threading.Thread(target=service.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{service.server_address[1]}"


class KeysOfRole(KeysOfFile):
    """Of a role that a token stands for, which lies in a file."""

    def profile(self, place):
        path = place.path / "home/token"
        path.write_text("the-token\n")
        return f"role_arn = arn:aws:iam::1:role/up\nweb_identity_token_file = {path}"

    def variables(self, place):
        return super().variables(place) | {"AWS_ENDPOINT_URL_STS": token_service()}
