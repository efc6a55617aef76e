"""What each link reaches."""
import socket
import statistics
import threading
import time

from .namespaces import on_network


def measure(hosts, name):
    """Round trip in seconds, the share of packets lost and the bandwidth in bit/s each way, between front and a host."""
    pids = {"host": hosts.host(name)["pid"], "front": hosts.host("front")["pid"]}
    number = int(name[4:])
    addresses = {"host": f"10.77.0.{number}", "front": "10.77.0.254"}
    wanted = hosts.host(name)["wanted"]

    def bound(end, kind):
        def make():
            made = socket.socket(socket.AF_INET, kind)
            made.bind((addresses[end], 0))
            return made
        return on_network(pids[end], make)

    patience = 0.3 + 6 * wanted["latency"]
    host, front = bound("host", socket.SOCK_DGRAM), bound("front", socket.SOCK_DGRAM)
    host.settimeout(patience)
    front.settimeout(patience)

    def echo():
        while True:
            try:
                packet, sender = host.recvfrom(100)
            except socket.timeout:
                continue
            if packet == b"end":
                return
            host.sendto(packet, sender)
    thread = threading.Thread(target=echo, daemon=True)
    thread.start()
    trips = []
    for trial in range(20 if wanted["latency"] > 0.02 else 50):
        begin = time.monotonic()
        front.sendto(str(trial).encode(), host.getsockname())
        try:
            while front.recv(100) != str(trial).encode():
                pass
            trips.append(time.monotonic() - begin)
        except socket.timeout:
            pass
        if trial == 4 and not trips:
            return None
    while thread.is_alive():
        front.sendto(b"end", host.getsockname())
        thread.join(0.02 + 2 * wanted["latency"])

    def loss(sender, receiver, packets=1000):
        receiver.setblocking(False)
        came = 0
        pause = 20 * 300 * 8 * 2 / wanted["bandwidth"] if wanted["bandwidth"] else 0

        def drain():
            nonlocal came
            try:
                while receiver.recv(1000):
                    came += 1
            except BlockingIOError:
                pass
        drain()
        came = 0
        for packet in range(packets):
            sender.sendto(b"x" * 200, receiver.getsockname())
            if packet % 20 == 19:
                drain()
                time.sleep(pause)
        time.sleep(0.05 + 2 * wanted["latency"])
        drain()
        return 1 - came / packets

    lost = [loss(host, front), loss(front, host)] if wanted["loss"] else [0, 0]

    def bandwidth(sender, receiver):
        listener = bound(receiver, socket.SOCK_STREAM)
        listener.listen()
        out = bound(sender, socket.SOCK_STREAM)
        out.settimeout(10)
        out.connect(listener.getsockname())
        into, _ = listener.accept()
        into.settimeout(10)
        warm_up, lasts = 0.1 + 10 * wanted["latency"], 0.3
        end = time.monotonic() + warm_up + lasts

        def send():
            data = bytes(1 << 16)
            try:
                while time.monotonic() < end:
                    out.send(data)
            except OSError:
                pass
            out.close()
        thread = threading.Thread(target=send, daemon=True)
        thread.start()
        begin, count, last = end - lasts, 0, 0
        try:
            while time.monotonic() < end:
                received = into.recv(1 << 18)
                if not received:
                    break
                last = time.monotonic()
                if last >= begin:
                    count += len(received)
        except socket.timeout:
            return 0
        finally:
            into.close()
            listener.close()
        thread.join()
        return 8 * count / lasts

    return {"trip": statistics.median(trips), "lost": lost,
            "bandwidth": [bandwidth("host", "front"), bandwidth("front", "host")]}


def check(hosts):
    """Prints what links reach. True if they reach what they were to have."""
    all_well = True
    print(f"{'link of':8} {'round trip':>12} {'lost, out, in':>16} {'Mbit/s, out, in':>18}  wanted")
    for name in hosts.names():
        wanted = hosts.host(name)["wanted"]
        reached = measure(hosts, name)
        wishes = ", ".join([f"{wanted['bandwidth'] / 1e6:g} Mbit/s"] * bool(wanted["bandwidth"]) +
                           [f"{wanted['latency'] * 1e6:g} us"] * bool(wanted["latency"]) +
                           [f"{wanted['loss'] * 100:g} % lost"] * bool(wanted["loss"])) or "the most"
        if reached is None:
            print(f"{name:8} {'-':>12} {'-':>16} {'-':>18}  {wishes}: NOT REACHED, no answer")
            all_well = False
            continue
        misses = []
        if wanted["bandwidth"] and not wanted["loss"]:
            # TCP's headers take 5 %.
            if not all(0.8 <= b / wanted["bandwidth"] <= 1.1 for b in reached["bandwidth"]):
                misses.append("bandwidth")
        if not 2 * wanted["latency"] <= reached["trip"] <= 2.5 * wanted["latency"] + 0.002:
            misses.append("latency")
        if wanted["loss"] and not all(abs(lost - wanted["loss"]) <= 0.3 * wanted["loss"] + 0.01 for lost in reached["lost"]):
            misses.append("loss")
        print(f"{name:8} {reached['trip'] * 1e6:9.0f} us {reached['lost'][0] * 100:7.1f} %{reached['lost'][1] * 100:5.1f} %"
              f" {reached['bandwidth'][0] / 1e6:9.0f}{reached['bandwidth'][1] / 1e6:9.0f}  {wishes}"
              + (f": {' and '.join(misses)} NOT REACHED" if misses else ""), flush=True)
        all_well = all_well and not misses
    return all_well
