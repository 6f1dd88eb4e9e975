# SPDX-License-Identifier: MIT
"""What the tests ask of a 64-bit little-endian ELF file, read by its specification: program headers, dynamic entries, symbols, code."""
import struct

PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_GNU_STACK, PT_GNU_RELRO = 1, 2, 3, 0x6474E551, 0x6474E552
PF_X = 1
DT_FLAGS, DT_FLAGS_1, DT_BIND_NOW, DT_TEXTREL = 30, 0x6FFFFFFB, 24, 22
DF_BIND_NOW, DF_1_NOW, DF_1_PIE = 8, 1, 0x08000000
ET_DYN, EM_X86_64, SHT_DYNSYM, STT_FUNC = 3, 62, 11, 2


class Elf:
    def __init__(self, path):
        with open(path, "rb") as f:
            self.bytes = f.read()
        if self.bytes[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path} is no 64-bit little-endian ELF file")
        self.type, self.machine = struct.unpack_from("<HH", self.bytes, 16)
        phoff, shoff = struct.unpack_from("<QQ", self.bytes, 32)
        phsize, phnum, shsize, shnum = struct.unpack_from("<HHHH", self.bytes, 54)
        # type, flags, offset, address, physical address, size in the file, size in memory, alignment
        self.segments = [struct.unpack_from("<IIQQQQQQ", self.bytes, phoff + i * phsize) for i in range(phnum)]
        # name, type, flags, address, offset, size, link, info, alignment, entry size
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", self.bytes, shoff + i * shsize) for i in range(shnum)]

    def segment(self, kind):
        return next((s for s in self.segments if s[0] == kind), None)

    def dynamic(self):
        """Tag to value; of repeated tags the last."""
        found = self.segment(PT_DYNAMIC)
        if not found:
            return {}
        return dict(struct.iter_unpack("<qQ", self.bytes[found[2]:found[2] + found[5]]))

    def symbols(self):
        """Of the dynamic table: (name, is it a function, is it defined here, address)."""
        table = next(s for s in self.sections if s[1] == SHT_DYNSYM)
        strings = self.sections[table[6]][4]
        for name, info, _, section, value, _ in struct.iter_unpack("<IBBHQQ", self.bytes[table[4]:table[4] + table[5]]):
            end = self.bytes.index(b"\0", strings + name)
            yield self.bytes[strings + name:end].decode(), info & 15 == STT_FUNC, section != 0, value

    def code(self, address, count):
        for kind, _, offset, start, _, size, _, _ in self.segments:
            if kind == PT_LOAD and start <= address < start + size:
                return self.bytes[offset + address - start:offset + address - start + count]
        raise ValueError(f"no bytes at {address:#x}")
