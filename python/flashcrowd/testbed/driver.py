"""The one file that imports EnOSlib, as a program of EnOSlib's environment; nothing of ours.

It reads an order, a line of JSON, carries it out and answers with a line of JSON that has the same
`number`, until its standard input ends. Nodes that it reserved are given back then, unless they are
to be kept. The first order says which nodes: `provider`, `configuration`, `role`, `keep`. Then `do`
is `run`, `send` or `fetch`. In paths and commands `{{ inventory_hostname }}` is the node's name.
"""

import importlib
import json
import os
import sys
from pathlib import Path

PROVIDERS = {
    "static": ("enoslib.infra.enos_static", "Static"),
    "g5k": ("enoslib.infra.enos_g5k", "G5k"),
    "vagrant": ("enoslib.infra.enos_vagrant", "Enos_vagrant"),
    "chameleon": ("enoslib.infra.enos_chameleonbaremetal", "Chameleonbaremetal"),
    "chameleon-kvm": ("enoslib.infra.enos_chameleonkvm", "Chameleonkvm"),
    "openstack": ("enoslib.infra.enos_openstack", "Openstack"),
    "vmong5k": ("enoslib.infra.enos_vmong5k", "VMonG5k"),
    "distem": ("enoslib.infra.enos_distem", "Distem"),
}
"""Name to package and class; the package has `configuration.Configuration` and `provider`."""


FORKS = 32
"""Nodes that Ansible talks to at a time."""


def main():
    """Carry out orders until there are none."""
    said = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # EnOSlib and Ansible print what they like
    # `ansible-playbook` and its like are beside this Python.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    testbed = None
    try:
        for line in sys.stdin:
            order = json.loads(line)
            number = order.pop("number")
            try:
                if testbed is None:
                    testbed = Testbed(**order)
                    names = testbed.reserve()
                    answer = {"nodes": names, "addresses": testbed.addresses()}
                else:
                    answer = getattr(testbed, order.pop("do"))(**order)
            except Exception as error:
                words = " ".join(str(error).split()) or "no reason is given"
                answer = {"error": f"{type(error).__name__}: {words}"}
            said.write(json.dumps({"number": number, "answer": answer}) + "\n")
    finally:
        if testbed is not None:
            testbed.release()


class Testbed:
    """The nodes of a provider."""

    def __init__(self, provider, configuration, role, keep):
        if provider not in PROVIDERS:
            raise ValueError(f"provider: {provider}; there are {', '.join(PROVIDERS)}")
        self._enoslib = importlib.import_module("enoslib")
        self._enoslib.set_config(ansible_stdout="noop", ansible_forks=FORKS)
        package, name = PROVIDERS[provider]
        kind = getattr(importlib.import_module(f"{package}.provider"), name)
        conf = importlib.import_module(f"{package}.configuration").Configuration
        self._provider = kind(conf.from_dictionary(configuration))
        self._local = provider == "static"
        self._role = role
        self._keep = keep
        self._hosts = []

    def reserve(self):
        """Get the nodes, and wait until they can be reached; their names."""
        roles, _ = self._provider.init()
        if self._role and self._role not in roles:
            raise ValueError(f"role: no node has the role {self._role}; there are {list(roles)}")
        hosts = roles[self._role] if self._role else {h for hosts in roles.values() for h in hosts}
        self._hosts = sorted(hosts, key=lambda host: host.alias)
        if not self._local:
            self._enoslib.wait_for(roles=self._hosts)
        return [host.alias for host in self._hosts]

    def addresses(self):
        """Where nodes are reached, by name."""
        return {host.alias: host.address for host in self._hosts}

    def release(self):
        """Give back what was reserved."""
        if not self._keep and self._hosts:
            self._provider.destroy()

    def run(self, command, nodes):
        """The output of a shell command on some nodes; None of one that cannot be reached."""
        results = self._enoslib.run_command(
            command, roles=self._of(nodes), on_error_continue=True, task_name="flashcrowd"
        )
        return {one.host: _said(one) for one in results}

    def send(self, source, target, nodes):
        """Copy a file to some nodes."""
        return self._act(nodes, "copy", {"src": source, "dest": target, "mode": "0600"})

    def fetch(self, source, target, nodes):
        """Copy a file from some nodes."""
        return self._act(nodes, "fetch", {"src": source, "dest": target, "flat": True})

    def _act(self, nodes, module, words):
        with self._enoslib.actions(roles=self._of(nodes), on_error_continue=True) as act:
            getattr(act, module)(task_name="flashcrowd", **words)
        return {one.host: _said(one) for one in act.results}

    def _of(self, nodes):
        return [host for host in self._hosts if host.alias in set(nodes)]


def _said(result):
    if result.status == "UNREACHABLE":
        return None
    payload = result.payload
    wrong = payload.get("stderr") or payload.get("msg") or ""
    status = payload.get("rc", 0 if result.status in ("OK", "SUCCESS") else 1)
    return {"status": status, "out": payload.get("stdout", ""), "err": str(wrong)}


if __name__ == "__main__":
    main()
