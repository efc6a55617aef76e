"""The link of each host, and what it is to reach."""
import os
import signal
import subprocess

from .namespaces import Mistake, folder, start_process
from .relay import relay


def has_netem():
    return subprocess.run(["unshare", "--net", "sh", "-c", "ip link set lo up && tc qdisc add dev lo root netem delay 1ms"],
                          capture_output=True).returncode == 0


def make_link(hosts, number, wanted, by_relay):
    name, port = f"host{number}", f"port{number}"
    host, front = hosts.host(name), hosts.host("front")["pid"]
    if by_relay:
        file = folder / f"{name}.latency"
        file.write_text(str(wanted["latency"]))
        host["relay"] = start_process(relay(host["pid"], front, port, file), [])
    else:
        hosts.inside("front", "ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", host["pid"])
    hosts.inside("front", "ip", "link", "set", port, "master", "switch", "up")
    hosts.inside(name, "ip", "address", "add", f"10.77.0.{number}/24", "dev", "eth0")
    hosts.inside(name, "ip", "link", "set", "eth0", "up")
    hosts.save()
    change_link(hosts, name, wanted)


def change_link(hosts, name, wanted):
    if name == "front":
        raise Mistake("front's link is perfect, and stays so")
    host = hosts.host(name)
    ends = ((name, "eth0"), ("front", name.replace("host", "port")))
    if wanted["latency"] and "relay" not in host and not has_netem():
        raise Mistake(f"{name} has no latency, and this kernel no netem: give --latency to `up`")
    if "relay" in host:
        (folder / f"{name}.latency").write_text(str(wanted["latency"]))
        os.kill(host["relay"], signal.SIGUSR1)
    for where, device in ends:
        hosts.inside(where, "tc", "qdisc", "del", "dev", device, "root", quiet=True)
        parent = ["root"]
        if wanted["bandwidth"]:
            burst = max(20000, int(wanted["bandwidth"] / 8 * 1e-3))
            hosts.inside(where, "tc", "qdisc", "add", "dev", device, "root", "handle", "1:", "tbf", "rate",
                         f"{wanted['bandwidth']:.0f}bit", "burst", burst, "latency", "100ms")
            parent = ["parent", "1:1"]
        if wanted["latency"] and "relay" not in host:
            hosts.inside(where, "tc", "qdisc", "add", "dev", device, *parent, "netem", "delay",
                         f"{wanted['latency'] * 1e6:.0f}us", "limit", 100000)
        # Packets from the other end are lost where they come in, one by one: not 64 KB at once.
        hosts.inside(where, "nft", "delete", "table", "netdev", f"loss-{device}", quiet=True)
        hosts.inside(where, "ip", "link", "set", device, "gso_max_segs", 1 if wanted["loss"] else 65535)
        if wanted["loss"]:
            hosts.inside(where, "nft", f"table netdev loss-{device} {{ chain arriving {{ type filter hook ingress "
                         f"device {device} priority 0; numgen random mod 100000 < {wanted['loss'] * 1e5:.0f} drop; }}\n}}")
    host["wanted"] = wanted
    hosts.save()
