"""What the sheaf under test can do on this machine."""

import json
import os
import subprocess

# A problem for each call whose variant can be forced, or for each kind of it. What a variant can do depends on it, which
# is why forced variants may refuse others.
CALLS = {
    "gather": ["--count", "1000", "--table", "1000", "--record-bytes", "8"],
    "scatter": ["--count", "1000", "--table", "1000", "--record-bytes", "8"],
    "split": ["--count", "1000", "--record-bytes", "8", "--bits", "0:5"],
    "split_unstable": ["--count", "1000", "--record-bytes", "8", "--bits", "0:5"],
    "split_gather_index": ["--count", "1000", "--key-bytes", "8", "--bits", "0:5"],
    "split_scatter_index": ["--count", "1000", "--key-bytes", "8", "--bits", "0:5"],
    "sort_records": ["--count", "1000", "--record-bytes", "8"],
    "sort_gather_index": ["--count", "1000", "--record-bytes", "8"],
    "hash_search": ["--count", "1000", "--table", "1000"],
    "hash_count": ["--count", "1000", "--table", "1000"],
    "hash_find": ["--count", "1000", "--table", "1000"],
    "build_hash_index": ["--count", "1000"],
    "list_rank": ["--count", "1000"],
    "list_scan": ["--count", "1000"],
    "scatter_reduce_rows": ["--count", "1000", "--table", "1000", "--record-bytes", "4", "--value-type", "f32"],
    "spmv": ["--count", "1000", "--rows", "100", "--value-type", "f32"],
    "spmv --transposed": ["--count", "1000", "--rows", "100", "--value-type", "f32"],
    "spmv --transposed --order unordered": ["--count", "1000", "--rows", "100", "--value-type", "f32"],
    "spmm": ["--count", "1000", "--rows", "100", "--record-bytes", "64", "--value-type", "f32"],
    "spmm --transposed": ["--count", "1000", "--rows", "100", "--record-bytes", "64", "--value-type", "f32"],
    "spmm --transposed --order unordered": ["--count", "1000", "--rows", "100", "--record-bytes", "64",
                                            "--value-type", "f32"],
    "edge_sum": ["--count", "1000"],
}

# What a user's shell may have set, and would change what is tested.
OURS = ("SHEAF_VARIANT", "SHEAF_PROFILE", "SHEAF_THREADS", "SHEAF_LEARN", "OMP_NUM_THREADS", "XDG_CACHE_HOME")


class Machine:
    """A program, where it works, and the names of its variants."""

    def __init__(self, sheaf, only_backend, shared_folder):
        self.shaders = os.path.join(shared_folder, "shaders")
        self.sheaf = os.path.abspath(sheaf)
        self.only_backend = only_backend
        self.plans = {}
        if only_backend and not self.has(only_backend):
            raise SystemExit(f"random_commands.py: --backend {only_backend} does not work here")

    def environment(self, cache):
        """That of a command: this process' without what a user has set for sheaf, and with a cache of its own."""
        kept = {name: value for name, value in os.environ.items() if name not in OURS}
        kept.setdefault("OMP_WAIT_POLICY", "passive")
        kept["XDG_CACHE_HOME"] = cache
        # Mesa's is shared by all commands: compiling a shader takes longer than using it.
        kept["MESA_SHADER_CACHE_DIR"] = kept["MESA_GLSL_CACHE_DIR"] = self.shaders
        return kept

    def ask(self, *words):
        """The report of a command, or None where it fails."""
        done = subprocess.run([self.sheaf, *words, "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              env=self.environment("/nowhere"), timeout=120, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def plan(self, call, backend):
        if (call, backend) not in self.plans:
            self.plans[call, backend] = self.ask("plan", *call.split(), *CALLS[call], "--backend", backend)
        return self.plans[call, backend]

    def has(self, backend):
        return self.plan("gather", backend) is not None

    def backends(self):
        """Names of those that work here."""
        return [self.only_backend] if self.only_backend else list(filter(self.has, ("cpu", "cuda", "opengl", "reference")))

    @property
    def best_backend(self):
        return self.plan("gather", "auto")["backend"]

    def variants(self, call, backend):
        """Names of the variants of a call, of those that can do a usual problem."""
        document = self.plan(call, backend)
        if document is None or backend == "reference":
            return []
        return [v["variant"] for v in document["variants"] if v["applicable"]]
