# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The vehicle behind VDS1, in lock-step: each new command is one step, and its state the answer."""

import socket
import struct
import sys
import zlib

from vehicle import Vehicle

DT = 0.01
own, peer = (("127.0.0.1", int(port)) for port in sys.argv[1:3] or ("6601", "6602"))
car, steps, wheel = Vehicle(), 0, 0.0
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
    sock.bind(own)
    sock.settimeout(0.01)
    last = None
    while True:
        body = struct.pack("<IHHIId", 0x56445331, 1, 2, steps, 0, steps * DT)
        body += struct.pack("<3d3d3d", car.x, car.y, 0, 0, 0, car.yaw, car.speed, 0, 0)
        body += struct.pack("<3d2d4d", 0, 0, car.yaw_rate, 0, 0, *4 * (car.speed / 0.3,))
        body += struct.pack("<2d4d", wheel, 0.3, *4 * (3700.0,))
        sock.sendto(body + struct.pack("<I", zlib.crc32(body)), peer)
        try:
            data = sock.recv(512)
        except TimeoutError:
            continue  # the state may have been lost: send it again
        magic, _, kind, number = struct.unpack_from("<IHHI", data)
        is_whole = len(data) == 76 and struct.unpack("<I", data[72:])[0] == zlib.crc32(data[:72])
        if is_whole and (magic, kind) == (0x56445331, 1) and number != last:
            last, steps = number, steps + 1
            wheel, throttle, brake = struct.unpack_from("<3d", data, 24)
            car.step(DT, throttle, brake, wheel)
