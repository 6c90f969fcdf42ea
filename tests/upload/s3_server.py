#!/usr/bin/env python3
"""A small strict S3 server for tests: it verifies signatures (AWS Signature Version 4) and the sums of
payloads itself, and keeps its objects in a folder, so that it can be killed and started again.

usage: s3_server.py FOLDER [PORT]        prints its port; ends when standard input does

FOLDER/objects/<quoted bucket and key>      the objects, with .meta beside them
FOLDER/parts/<upload id>/                   parts that are not joined yet
FOLDER/requests.log                         a line for each request: status, method, path, query
FOLDER/behaviour                            words: slow=BYTES_PER_SECOND full=MOST_BYTES busy=PERCENT
                                            lose_answers=PERCENT (the work is done, the client hears nothing)
                                            write_only=1, no_put=1, no_abort=1, no_join=1 (what is refused)
                                            fail_joins=1 (what was joined is answered with 500)
                                            tokens_end=1 (a session's token is over when something was put with it)
                                            still=1 (of a body 64 KiB are read, then FOLDER/standing is made)
"""
import hashlib
import hmac
import json
import os
import pathlib
import random
import re
import shutil
import socketserver
import sys
import threading
import time
import urllib.parse
import uuid
from http.server import BaseHTTPRequestHandler

KEY, SECRET, REGION = "AKIATESTKEY000000001", "s3cr3t/With+Odd=Chars0123456789abcdefgh", "us-east-1"
EMPTY = hashlib.sha256(b"").hexdigest()
LOCK = threading.Lock()


def quoted(text, safe=""):
    return urllib.parse.quote(text, safe=safe + "-_.~")


class Refused(Exception):
    def __init__(self, status, code):
        super().__init__(code)
        self.status, self.code = status, code


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def behaviour(self):
        try:
            words = (self.server.folder / "behaviour").read_text().split()
        except OSError:
            return {}
        return {name: int(value) for name, value in (word.split("=") for word in words)}

    # --- what is asked -------------------------------------------------------------------------
    def handle_request(self):
        raw, _, query = self.path.partition("?")
        self.query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        self.raw_path, self.raw_query = raw, query
        self.name = urllib.parse.unquote(raw).lstrip("/")
        try:
            body = self.read_body()
            self.verify(body)
            if random.randrange(100) < self.behaviour().get("busy", 0):
                raise Refused(503, "SlowDown")
            status, headers, answer = self.act(body)
        except Refused as refused:
            status, headers = refused.status, {}
            answer = f"<Error><Code>{refused.code}</Code></Error>".encode()
        with LOCK, open(self.server.folder / "requests.log", "a") as log:
            log.write(f"{status} {self.command} {self.name} {self.raw_query}\n")
        if status < 300 and random.randrange(100) < self.behaviour().get("lose_answers", 0):
            self.close_connection = True
            self.connection.close()
            return
        self.answer(status, headers, answer)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_request

    def answer(self, status, headers, body):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def read_body(self):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            self.close_connection = True
            raise Refused(411, "MissingContentLength")
        left, parts, slow = int(self.headers.get("Content-Length", 0)), [], self.behaviour().get("slow")
        while left > 0:
            part = self.rfile.read(min(left, 1 << 16))
            if not part:
                raise Refused(400, "IncompleteBody")
            left -= len(part)
            parts.append(part)
            if left > 0 and self.behaviour().get("still"):
                (self.server.folder / "standing").touch()
                time.sleep(3600)
            if slow:
                time.sleep(len(part) / slow)
        return b"".join(parts)

    # --- who asks ------------------------------------------------------------------------------
    def verify(self, body):
        field = re.fullmatch(
            r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, ?"
            r"SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})", self.headers.get("Authorization", ""))
        if not field:
            raise Refused(403, "AccessDenied")
        key, day, region, signed, signature = field.groups()
        names = signed.split(";")
        declared = self.headers.get("x-amz-content-sha256", "")
        must = {"host", *(name.lower() for name in self.headers if name.lower().startswith("x-amz-"))}
        if not must <= set(names) or names != sorted(names):
            raise Refused(403, "AccessDenied")
        if key != KEY:
            raise Refused(403, "InvalidAccessKeyId")
        if region != REGION:
            raise Refused(400, "AuthorizationHeaderMalformed")
        query = "&".join(sorted(f"{quoted(name)}={quoted(value)}" for name, value in self.query.items()))
        headers = "".join(f"{name}:{' '.join(self.headers[name].split())}\n" for name in names)
        path = quoted(urllib.parse.unquote(self.raw_path), "/")
        request = "\n".join([self.command, path, query, headers, signed, declared])
        scope = f"{day}/{region}/s3/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", self.headers["x-amz-date"], scope,
                          hashlib.sha256(request.encode()).hexdigest()])
        secret = ("AWS4" + SECRET).encode()
        for word in scope.split("/"):
            secret = hmac.new(secret, word.encode(), hashlib.sha256).digest()
        if hmac.new(secret, text.encode(), hashlib.sha256).hexdigest() != signature:
            raise Refused(403, "SignatureDoesNotMatch")
        if self.headers.get("x-amz-security-token", "") in self.server.ended_tokens:
            raise Refused(403, "ExpiredToken")
        if declared != hashlib.sha256(body).hexdigest():
            raise Refused(400, "XAmzContentSHA256Mismatch")

    # --- what is done --------------------------------------------------------------------------
    def object(self):
        return self.server.folder / "objects" / quoted(self.name)

    def parts(self, upload):
        return self.server.folder / "parts" / quoted(upload)

    def room_for(self, size):
        full = self.behaviour().get("full")
        used = sum(path.stat().st_size for path in self.server.folder.rglob("*") if path.is_file())
        if full is not None and used + size > full:
            raise Refused(507, "InsufficientStorage")

    def store(self, body, meta):
        name = self.object()
        temporary = name.with_name(name.name + ".tmp" + uuid.uuid4().hex[:8])
        temporary.write_bytes(body)
        name.with_name(name.name + ".meta").write_text(json.dumps(meta))
        os.replace(temporary, name)

    def meta(self):
        return {name.lower(): value for name, value in self.headers.items()
                if name.lower().startswith("x-amz-meta-")}

    def act(self, body):
        bucket, _, key = self.name.partition("/")
        if bucket != "traces":
            raise Refused(404, "NoSuchBucket")
        if self.command in ("GET", "HEAD") and self.behaviour().get("write_only"):
            raise Refused(403, "AccessDenied")
        upload = self.query.get("uploadId")
        if self.command in ("PUT", "POST") and self.behaviour().get("no_put"):
            raise Refused(403, "AccessDenied")
        if self.command == "PUT" and self.behaviour().get("tokens_end"):
            self.server.ended_tokens.add(self.headers["x-amz-security-token"])
        if self.command == "DELETE" and self.behaviour().get("no_abort"):
            raise Refused(403, "AccessDenied")
        if self.command == "POST" and upload and self.behaviour().get("no_join"):
            raise Refused(400, "InvalidPart")
        if self.command == "PUT" and upload:
            return self.put_part(upload, body)
        if self.command == "PUT":
            self.room_for(len(body))
            etag = f'"{hashlib.md5(body).hexdigest()}"'
            self.store(body, {**self.meta(), "etag": etag})
            return 200, {"ETag": etag}, b""
        if self.command == "POST" and "uploads" in self.query:
            return self.begin_parts()
        if self.command == "POST" and upload:
            return self.join_parts(upload, body)
        if self.command == "DELETE" and upload:
            shutil.rmtree(self.parts(upload), ignore_errors=True)
            return 204, {}, b""
        if self.command == "GET" and "uploads" in self.query:
            return self.list_parts()
        return self.get()

    def get(self):
        try:
            body = self.object().read_bytes()
        except OSError:
            raise Refused(404, "NoSuchKey") from None
        meta = json.loads(self.object().with_name(self.object().name + ".meta").read_text())
        return 200, {"Content-Length": str(len(body)), **meta}, body

    def begin_parts(self):
        upload = uuid.uuid4().hex + "+/=&"  # an id that must be encoded
        self.parts(upload).mkdir(parents=True)
        (self.parts(upload) / "about").write_text(json.dumps({"name": self.name, "meta": self.meta()}))
        escaped = upload.replace("&", "&amp;")
        return 200, {}, f"<InitiateMultipartUploadResult><UploadId>{escaped}</UploadId></InitiateMultipartUploadResult>".encode()

    def about(self, upload):
        try:
            about = json.loads((self.parts(upload) / "about").read_text())
        except OSError:
            raise Refused(404, "NoSuchUpload") from None
        if about["name"] != self.name:
            raise Refused(404, "NoSuchUpload")
        return about

    def put_part(self, upload, body):
        self.about(upload)
        self.room_for(len(body))
        temporary = self.parts(upload) / f"tmp{uuid.uuid4().hex[:8]}"
        temporary.write_bytes(body)
        os.replace(temporary, self.parts(upload) / self.query["partNumber"])
        return 200, {"ETag": f'"{hashlib.md5(body).hexdigest()}"'}, b""

    def join_parts(self, upload, body):
        about = self.about(upload)
        listed = re.findall(rb"<PartNumber>(\d+)</PartNumber><ETag>&quot;([0-9a-f]+)&quot;</ETag>", body)
        if [int(number) for number, _ in listed] != list(range(1, len(listed) + 1)):
            raise Refused(400, "InvalidPartOrder")
        contents = []
        for number, etag in listed:
            try:
                contents.append((self.parts(upload) / number.decode()).read_bytes())
            except OSError:
                raise Refused(400, "InvalidPart") from None
            if hashlib.md5(contents[-1]).hexdigest().encode() != etag:
                raise Refused(400, "InvalidPart")
        if any(len(part) < 5 << 20 for part in contents[:-1]):
            raise Refused(400, "EntityTooSmall")
        sums = b"".join(hashlib.md5(part).digest() for part in contents)
        etag = f'"{hashlib.md5(sums).hexdigest()}-{len(contents)}"'
        self.store(b"".join(contents), {**about["meta"], "etag": etag})
        shutil.rmtree(self.parts(upload))
        if self.behaviour().get("fail_joins"):
            raise Refused(500, "InternalError")
        return 200, {}, b"<CompleteMultipartUploadResult></CompleteMultipartUploadResult>"

    def list_parts(self):
        prefix = self.query.get("prefix", "")
        found = []
        for folder in (self.server.folder / "parts").iterdir():
            try:
                key = json.loads((folder / "about").read_text())["name"].partition("/")[2]
            except OSError:
                continue
            if key.startswith(prefix):
                upload = urllib.parse.unquote(folder.name).replace("&", "&amp;")
                found.append(f"<Upload><Key>{key}</Key><UploadId>{upload}</UploadId></Upload>")
        return 200, {}, f"<ListMultipartUploadsResult>{''.join(found)}</ListMultipartUploadsResult>".encode()


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    allow_reuse_address, daemon_threads = True, True
    ended_tokens = set()


def main(folder, port=0):
    for name in ("objects", "parts"):
        (pathlib.Path(folder) / name).mkdir(parents=True, exist_ok=True)
    server = Server(("127.0.0.1", int(port)), Handler)
    server.folder = pathlib.Path(folder)
    print(server.server_address[1], flush=True)
    # Whoever started it holds the other end: it ends with that process, whatever happens.
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
