"""Of an ELF file: which code belongs to which function, and where an exception that passes through a
call of it goes on (.eh_frame and .gcc_except_table, as the Itanium C++ ABI lays them out)."""

import bisect
import pathlib
import struct

# How a pointer is encoded: the low four bits its size, 0x10 relative to its own place.
FIXED = {0x0: "<q", 0x3: "<I", 0x4: "<q", 0xb: "<i", 0xc: "<q"}
OMITTED = 0xff


class Section:
    def __init__(self, address, offset, size):
        self.address, self.offset, self.size = address, offset, size


class Reader:
    def __init__(self, data, section, offset):
        self.data, self.section, self.at = data, section, offset

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def uleb(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    def sleb(self):
        begin = self.at
        value = self.uleb()
        bits = 7 * (self.at - begin)
        return value - (1 << bits) if value >> (bits - 1) & 1 else value

    def pointer(self, encoding):
        place = self.section.address + self.at - self.section.offset
        if encoding & 0xf == 1:
            value = self.uleb()
        else:
            form = FIXED[encoding & 0xf]
            value, = struct.unpack_from(form, self.data, self.at)
            self.at += struct.calcsize(form)
        return value + place if value and encoding & 0x70 == 0x10 else value

    def text(self):
        end = self.data.index(b"\0", self.at)
        begin, self.at = self.at, end + 1
        return self.data[begin:end].decode()


class Frame:
    """A function, or a part of one."""

    def __init__(self, begin, size, table):
        self.begin, self.end, self.table = begin, begin + size, table
        self.sites = None  # [(begin, end, is there a landing pad, does it catch all)]; None: no table


class UnwindTables:
    def __init__(self, path):
        self.data = pathlib.Path(path).read_bytes()
        self.sections = dict(self._sections())
        self.frames = sorted(self._frames(), key=lambda frame: frame.begin)
        self._begins = [frame.begin for frame in self.frames]
        for frame in self.frames:
            if frame.table:
                frame.sites = list(self._sites(frame))

    def frame_of(self, address):
        index = bisect.bisect_right(self._begins, address) - 1
        return self.frames[index] if index >= 0 and address < self.frames[index].end else None

    @staticmethod
    def way_out(frame, address):
        """Of an exception thrown by the call at that address: through, cleanup, caught, or end (of
        the process)."""
        if frame.sites is None:
            return "through"
        for begin, end, has_pad, catches in frame.sites:
            if begin <= address < end:
                return ("caught" if catches else "cleanup") if has_pad else "through"
        return "end"

    def _sections(self):
        table, = struct.unpack_from("<Q", self.data, 0x28)
        size, count, names = struct.unpack_from("<HHH", self.data, 0x3a)
        rows = [struct.unpack_from("<IIQQQQ", self.data, table + i * size) for i in range(count)]
        for row in rows:
            begin = rows[names][4] + row[0]
            name = self.data[begin:self.data.index(b"\0", begin)].decode()
            yield name, Section(row[3], row[4], row[5])

    def _frames(self):
        section = self.sections[".eh_frame"]
        common, at = {}, section.offset
        while at < section.offset + section.size:
            length, = struct.unpack_from("<I", self.data, at)
            if length == 0:
                return
            begin, number = at + 4, struct.unpack_from("<I", self.data, at + 4)[0]
            reader = Reader(self.data, section, begin + 4)
            if number == 0:
                common[at] = self._encodings(reader)
            else:
                code, table = common[begin - number]
                first, size = reader.pointer(code), reader.pointer(code & 0xf)
                reader.uleb()
                yield Frame(first, size, reader.pointer(table) if table != OMITTED else 0)
            at = begin + length

    @staticmethod
    def _encodings(reader):
        """(of code, of the table for this language or OMITTED)."""
        reader.byte()
        letters = reader.text()
        reader.uleb(), reader.sleb(), reader.uleb()
        code, table = 0, OMITTED
        if letters.startswith("z"):
            reader.uleb()
        for letter in letters.removeprefix("z"):
            if letter == "R":
                code = reader.byte()
            elif letter == "L":
                table = reader.byte()
            elif letter == "P":
                reader.pointer(reader.byte())
        return code, table

    def _sites(self, frame):
        section = self.sections[".gcc_except_table"]
        reader = Reader(self.data, section, section.offset + frame.table - section.address)
        pads = reader.byte()
        if pads != OMITTED:
            reader.pointer(pads)
        types, types_end = reader.byte(), 0
        if types != OMITTED:
            types_end = reader.uleb()
            types_end += reader.at
        encoding, size = reader.byte(), reader.uleb()
        end = reader.at + size
        while reader.at < end:
            begin, length, pad = (reader.pointer(encoding) for _ in range(3))
            action = reader.uleb()
            catches = bool(pad and action) and self._catches_all(end + action - 1, types, types_end)
            yield frame.begin + begin, frame.begin + begin + length, pad != 0, catches

    def _catches_all(self, at, types, types_end):
        width = struct.calcsize(FIXED.get(types & 0xf, "<q"))
        while True:
            reader = Reader(self.data, self.sections[".gcc_except_table"], at)
            kind = reader.sleb()
            following = reader.at
            step = reader.sleb()
            if kind > 0 and not any(self.data[types_end - kind * width:types_end - (kind - 1) * width]):
                return True
            if step == 0:
                return False
            at = following + step
