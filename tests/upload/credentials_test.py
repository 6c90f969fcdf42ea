#!/usr/bin/env python3
"""Where `traceagent upload` has its keys from: files, commands, roles, and the services of a place, which are a
server of this test's own. What arrives shows that the keys were right: the S3 server verifies signatures."""
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "process"))

import s3_server  # noqa: E402
from jobs import TIMEOUT, TRACEAGENT, Checks, variables_of  # noqa: E402
from servers import S3Server  # noqa: E402

checks = Checks()
check = checks.check
KEYS = {"AccessKeyId": s3_server.KEY, "SecretAccessKey": s3_server.SECRET}


class Services(http.server.BaseHTTPRequestHandler):
    """A token service, a container's and a machine's; it keeps what it was asked."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def do_PUT(self):
        if self.server.token_failures > 0:
            self.server.token_failures -= 1
            return self.answer(503, "")
        self.answer(200, "machines-token")

    def do_GET(self):
        self.server.asked.append((self.path, dict(self.headers)))
        if self.server.failures > 0:
            self.server.failures -= 1
            return self.answer(503, "")
        expires = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + self.server.lives_s))
        keys = json.dumps(KEYS | {"Expiration": expires})
        if self.path == "/container" and self.headers.get("Authorization") == "containers-token":
            return self.answer(200, keys)
        if self.headers.get("X-aws-ec2-metadata-token") != "machines-token":
            return self.answer(401, "")
        self.answer(200, keys if self.path.endswith("/the-role") else "the-role\n")

    def do_POST(self):
        form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        self.server.asked.append((form, dict(self.headers)))
        if self.server.refusals:
            code = self.server.refusals.pop()
            return self.answer(400, f"<ErrorResponse><Error><Code>{code}</Code></Error></ErrorResponse>")
        if form.get("RoleArn") != "arn:aws:iam::1:role/up load":
            return self.answer(403, "<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>")
        keys = "".join(f"<{name}>{value}</{name}>" for name, value in KEYS.items())
        self.answer(200, f"<R><Credentials>{keys}<Expiration>2100-01-01T00:00:00Z</Expiration></Credentials></R>")


class Here:
    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="traceagent-test-")
        self.path = pathlib.Path(self._folder.name)
        for name in ("s3", "traces", ".aws"):
            (self.path / name).mkdir()
        self.file = self.path / "traces/a.json"
        self.file.write_bytes(b"{}")
        self.s3 = S3Server(self.path / "s3").start()
        self.services = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Services)
        self.services.daemon_threads = True
        self.services.asked, self.services.lives_s, self.services.failures = [], 3600, 0
        self.services.token_failures, self.services.refusals = 0, []
        self.url = f"http://127.0.0.1:{self.services.server_address[1]}"
        threading.Thread(target=self.services.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.services.shutdown()
        self.services.server_close()
        self.s3.kill()
        self._folder.cleanup()

    def config(self, text, name="config"):
        (self.path / ".aws" / name).write_text(text)

    def upload(self, *more, **variables):
        kept = {key: value for key, value in variables_of().items() if not key.startswith("AWS_")}
        place = {"HOME": str(self.path), "AWS_ENDPOINT_URL_S3": self.s3.variables()["AWS_ENDPOINT_URL"],
                 "AWS_ENDPOINT_URL_STS": self.url, "AWS_REGION": s3_server.REGION,
                 "AWS_EC2_METADATA_DISABLED": "true"}
        done = subprocess.run([str(TRACEAGENT), "upload", str(self.file), "--to", "s3://traces/", *more],
                              env=kept | place | variables, text=True, cwd=self.path, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=TIMEOUT)
        return done.returncode, done.stdout + done.stderr

    def arrives(self, what, **variables):
        code, out = self.upload(**variables)
        check(code == 0 and list(self.s3.objects()) == ["a.json"], f"{what}: {code} {out}")
        check(s3_server.SECRET not in out, f"{what}: no secret is shown")

    def is_refused(self, what, why, secret=s3_server.SECRET, **variables):
        code, out = self.upload("--patience", "0s", **variables)
        check(code == 1 and why in out and secret not in out, f"{what}: {code} {out}")


def test_process():
    with Here() as here:
        (here.path / "keys.json").write_text(json.dumps(KEYS | {"Version": 1}))
        here.config(f"[profile p]\ncredential_process = cat '{here.path}/keys.json'\n"
                    f"[profile bad]\ncredential_process = cat '{here.path}/keys.json'; exit 4\n"
                    "[profile none]\ncredential_process = echo {}\n"
                    "[profile sets]\ncredential_process = TOKEN=hunter2 false\n")
        here.arrives("process", AWS_PROFILE="p")
        # A word of it may be a password.
        here.is_refused("process", "credential_process: cat: exit code 4: run it by hand", "keys.json", AWS_PROFILE="bad")
        here.is_refused("process", "has no AccessKeyId", AWS_PROFILE="none")
        here.is_refused("process", "credential_process: exit code 1", "hunter2", AWS_PROFILE="sets")


def test_endpoints():
    """Where the server is said to be in files: it is that one which is asked, and no other."""
    with Here() as here:
        url, keys = here.s3.variables()["AWS_ENDPOINT_URL"], f"aws_access_key_id = {s3_server.KEY}\n" \
            f"aws_secret_access_key = {s3_server.SECRET}\n"
        here.config(f"[profile default]\n{keys}services = loc\nendpoint_url = http://127.0.0.1:1\n"
                    f"s3 =\n\tendpoint_url = http://127.0.0.1:2\n[services loc]\ns3 =\n\tendpoint_url = {url}\n"
                    f"[profile   two]\n{keys}endpoint_url = {url}\n"
                    f"[profile \"two x\"]\n{keys}endpoint_url = {url}\n[profile none]\n{keys}services = nowhere\n")
        for what, variables in {"services": {}, "blanks": {"AWS_PROFILE": "two"}, "quotes": {"AWS_PROFILE": "two x"},
                                "default profile": {"AWS_DEFAULT_PROFILE": "two"}}.items():
            here.arrives(what, AWS_ENDPOINT_URL_S3="", **variables)
            (here.path / "s3/objects").joinpath("traces%2Fa.json").unlink(missing_ok=True)
        here.is_refused("no services", "there is no [services nowhere]", AWS_ENDPOINT_URL_S3="", AWS_PROFILE="none")
        here.is_refused("no profile", "AWS_PROFILE: typo: no such profile", AWS_DEFAULT_PROFILE="typo")


def test_roles():
    with Here() as here:
        role = "role_arn = arn:aws:iam::1:role/up load\n"
        here.config(f"[profile a]\n{role}source_profile = keys\nexternal_id = e/1\nrole_session_name = me\n"
                    f"[profile b]\n{role}credential_source = Environment\n"
                    f"[profile c]\n{role}credential_source = Elsewhere\n"
                    "[profile d]\nrole_arn = arn:other\nsource_profile = keys\n"
                    f"[profile e]\n{role}source_profile = f\n[profile f]\n{role}source_profile = e\n"
                    f"[profile m]\n{role}source_profile = keys\nmfa_serial = 1\n")
        here.config("[keys]\naws_access_key_id = other\naws_secret_access_key = other\n", "credentials")
        here.arrives("role", AWS_PROFILE="a")
        form, headers = here.services.asked[-1]
        check(form["Action"] == "AssumeRole" and form["ExternalId"] == "e/1" and form["RoleSessionName"] == "me",
              f"role: {form}")
        check("Credential=other/" in headers["Authorization"] and "/sts/aws4_request" in headers["Authorization"],
              f"role: {headers}")
        here.is_refused("source", "credential_source Elsewhere is not known", AWS_PROFILE="c")
        here.is_refused("refused", "the token service gives no keys: HTTP 403 AccessDenied", AWS_PROFILE="d")
        here.is_refused("circle", "leads in a circle", AWS_PROFILE="e")
        here.is_refused("mfa", "mfa_serial asks a person", AWS_PROFILE="m")


def test_web_identity():
    with Here() as here:
        (here.path / "token").write_text("web+token/=\n")
        here.arrives("web identity", AWS_ROLE_ARN="arn:aws:iam::1:role/up load",
                     AWS_WEB_IDENTITY_TOKEN_FILE=str(here.path / "token"))
        form, headers = here.services.asked[-1]
        check(form["Action"] == "AssumeRoleWithWebIdentity" and form["WebIdentityToken"] == "web+token/=",
              f"web identity: {form}")
        check("Authorization" not in headers, f"web identity: not signed: {headers}")
        here.is_refused("no token", "no token: see web_identity_token_file", AWS_ROLE_ARN="arn",
                        AWS_WEB_IDENTITY_TOKEN_FILE=str(here.path / "none"))


def test_places():
    with Here() as here:
        (here.path / "token").write_text("containers-token")
        here.arrives("container", AWS_CONTAINER_CREDENTIALS_FULL_URI=here.url + "/container",
                     AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=str(here.path / "token"))
        here.arrives("machine", AWS_EC2_METADATA_DISABLED="false", AWS_EC2_METADATA_SERVICE_ENDPOINT=here.url)


def test_busy_places():
    """One answer that is none is no reason to give files up."""
    with Here() as here:
        places = {"container": {"AWS_CONTAINER_CREDENTIALS_FULL_URI": here.url + "/container",
                                "AWS_CONTAINER_AUTHORIZATION_TOKEN": "containers-token"},
                  "machine": {"AWS_EC2_METADATA_DISABLED": "false", "AWS_EC2_METADATA_SERVICE_ENDPOINT": here.url}}
        here.services.token_failures = 1
        here.arrives("busy with tokens", **places["machine"])
        (here.path / "s3/objects").joinpath("traces%2Fa.json").unlink()
        for what, variables in places.items():
            here.services.failures = 1000
            here.is_refused(f"busy {what}", "gives no keys: HTTP 503", **variables)
            here.services.failures = 1
            here.arrives(f"busy {what}", **variables)
            (here.path / "s3/objects").joinpath("traces%2Fa.json").unlink(missing_ok=True)


def test_a_busy_token_service():
    with Here() as here:
        (here.path / "token").write_text("web")
        here.services.refusals = ["Throttling", "IDPCommunicationError"]
        here.arrives("busy token service", AWS_ROLE_ARN="arn:aws:iam::1:role/up load",
                     AWS_WEB_IDENTITY_TOKEN_FILE=str(here.path / "token"))
        check(len(here.services.asked) == 3, f"busy token service: {here.services.asked}")


def test_no_proxy_hears_a_secret():
    """Of the container's own service; nor does a line."""
    with Here() as here:
        code, out = here.upload("--patience", "0s", http_proxy=here.url, no_proxy="127.0.0.1",
                                AWS_CONTAINER_CREDENTIALS_FULL_URI="http://container.invalid:1/secret-path",
                                AWS_CONTAINER_AUTHORIZATION_TOKEN="containers-token")
        check(not here.services.asked, f"proxy: {here.services.asked}")
        check(code == 1 and "(AWS_CONTAINER_CREDENTIALS_FULL_URI) gives no keys" in out and "secret-path" not in out,
              f"proxy: {code} {out}")


def test_keys_that_are_being_written():
    """A file of keys that is empty for a moment is no reason to give files up."""
    with Here() as here:
        here.config("", "credentials")
        here.is_refused("empty", ".aws/credentials: it is empty")
        keys = f"[default]\naws_access_key_id = {s3_server.KEY}\naws_secret_access_key = {s3_server.SECRET}\n"
        writer = threading.Timer(1, lambda: here.config(keys, "credentials"))
        writer.start()
        here.arrives("written")
        writer.join()


def test_refusals():
    with Here() as here:
        here.config("[profile s]\nsso_session = x\n")
        here.is_refused("single sign-on", "export-credentials --profile s", AWS_PROFILE="s")
        here.is_refused("no profile", "AWS_PROFILE: typo: no such profile", AWS_PROFILE="typo")
        here.is_refused("none", "no credentials: set AWS_ACCESS_KEY_ID")
        here.is_refused("none", "no credentials: set AWS_ACCESS_KEY_ID", AWS_EC2_METADATA_DISABLED="TRUE",
                        AWS_EC2_METADATA_SERVICE_ENDPOINT=here.url)
        check(not here.services.asked, f"disabled: {here.services.asked}")


def test_expiry_between_parts():
    """Keys that live for a minute are asked for again while one file goes up."""
    with Here() as here:
        here.file.write_bytes(os.urandom(30 << 20))
        here.services.lives_s = 60
        here.s3.behave("slow=4000000")
        code, out = here.upload("--multipart-from", "5MiB", "--part-size", "5MiB",
                                AWS_EC2_METADATA_DISABLED="false", AWS_EC2_METADATA_SERVICE_ENDPOINT=here.url)
        asked = sum(path.endswith("/the-role") for path, _ in here.services.asked)
        check(code == 0 and asked >= 2, f"expiry: asked {asked} times: {code} {out}")
        check(here.s3.objects()["a.json"] == here.file.read_bytes(), "expiry: whole")


def test_expiry_while_their_source_is_away():
    """Between the parts of one file: nothing is sent without keys, which would be refused for good."""
    with Here() as here:
        here.file.write_bytes(os.urandom(30 << 20))
        here.services.lives_s = 4
        here.s3.behave("slow=4000000")

        def go_away():
            here.services.failures = 1000
            time.sleep(8)
            here.services.lives_s, here.services.failures = 3600, 0

        goes = threading.Timer(2, go_away)
        goes.start()
        code, out = here.upload("--multipart-from", "5MiB", "--part-size", "5MiB", "--patience", "1min",
                                AWS_EC2_METADATA_DISABLED="false", AWS_EC2_METADATA_SERVICE_ENDPOINT=here.url)
        goes.join()
        refused = [request for request in here.s3.requests() if request[0] in ("400", "403")]
        check(code == 0 and "gives no keys: HTTP 503: tried again" in out and not refused,
              f"away: {refused}: {code} {out}")
        check(here.s3.objects().get("a.json") == here.file.read_bytes(), "away: whole")


def test_keys_that_end_before_the_object_is_looked_at():
    """Its answer has no body that would say so."""
    with Here() as here:
        keys = json.dumps(KEYS | {"Version": 1, "Expiration": "2100-01-01T00:00:00Z"})
        script = here.path / "keys.sh"
        script.write_text(f"#!/bin/sh\necho '{keys[:-1]}, \"SessionToken\": \"token'$$'\"}}'\n")
        script.chmod(0o700)
        here.config(f"[default]\ncredential_process = {script}\n")
        here.s3.behave("tokens_end=1")
        here.arrives("ended tokens")
        check(len(here.s3.requests("PUT")) == 1, f"ended tokens: {here.s3.requests()}")
        # All that come are over.
        script.write_text(f"#!/bin/sh\necho '{keys[:-1]}, \"SessionToken\": \"token\"}}'\n")
        here.is_refused("over", "HTTP 403 ExpiredToken: renew the credentials: tried again")


for test_name, test in sorted(globals().items()):
    if test_name.startswith("test_") and (not sys.argv[3:] or test_name in sys.argv[3:]):
        test()
sys.exit(checks.end())
