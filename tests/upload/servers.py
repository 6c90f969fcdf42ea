"""The test's own S3 server (s3_server.py) as an object: start, kill, start again; what it holds."""

import pathlib
import subprocess
import sys
import urllib.parse

import s3_server

SCRIPT = pathlib.Path(s3_server.__file__)


class S3Server:
    def __init__(self, folder):
        self.folder, self.port, self.process = pathlib.Path(folder), 0, None

    def start(self):
        for _ in range(50):  # on the port that it had, which clients know
            self.process = subprocess.Popen(
                [sys.executable, str(SCRIPT), str(self.folder), str(self.port)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            line = self.process.stdout.readline()
            if line.strip():
                self.port = int(line)
                return self
            self.process.wait()
        raise RuntimeError("the S3 server does not start")

    def kill(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.kill()

    def behave(self, words):
        (self.folder / "behaviour").write_text(words)

    def variables(self, secret=s3_server.SECRET):
        return {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}", "AWS_ACCESS_KEY_ID": s3_server.KEY,
                "AWS_SECRET_ACCESS_KEY": secret, "AWS_REGION": s3_server.REGION,
                "AWS_EC2_METADATA_DISABLED": "true"}

    def objects(self):
        """Key in the bucket -> bytes."""
        found = {}
        for path in (self.folder / "objects").iterdir():
            if not path.name.endswith(".meta") and ".tmp" not in path.name:
                name = urllib.parse.unquote(path.name)
                found[name.partition("/")[2]] = path.read_bytes()
        return found

    def unjoined(self):
        return list((self.folder / "parts").iterdir())

    def requests(self, method=None, status=None):
        try:
            lines = (self.folder / "requests.log").read_text().splitlines()
        except OSError:
            return []
        found = [line.split(" ", 3) for line in lines]
        return [line for line in found if (method is None or line[1] == method)
                and (status is None or line[0] == str(status))]
