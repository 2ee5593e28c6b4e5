#!/usr/bin/env python3
"""Uses Haversack with the real servers that servers.py started: from the command line and over HTTP.

    python3 tools/providers/servers.py -- python3 tools/providers/end_to_end.py BINARY

Checks that calls work end to end and prints what came out. It checks shapes, never what a model says: the models are
far too small to be right.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

BINARY = pathlib.Path(sys.argv[1]).resolve()
SETTINGS = pathlib.Path(os.environ["HAVERSACK_PROVIDERS"])

NOTES = {
    "kettle.md": "# Kitchen\n\nThe kettle stands on the stove. It was bought in Bergen.\n",
    "ferry.md": "# Ferry\n\nThe ferry to the island sails at ten and at four. Dogs travel free.\n",
    "heating.md": "# Heating\n\nThe boiler is serviced every October. The plumber is Nils Aas.\n",
}
CONTEXTS = """\
id: walk
metadata: { name: Walk, type: task }
intent_context: { business_goal: Get home dry, intent_type: walk }
injection_rules:
  - { name: wet, condition: it will rain on the way home, inject: [umbrella] }
  - { name: ice, condition: there is ice on the road, inject: [boots] }
"""
HELPERS = {
    "umbrella": "id: umbrella\nmetadata: { name: Umbrella, type: helper }\n"
    "intent_context: { business_goal: Stay dry, intent_type: help }\n",
    "boots": "id: boots\nmetadata: { name: Boots, type: helper }\n"
    "intent_context: { business_goal: Do not slip, intent_type: help }\n",
}
RECIPE = """\
haversack = 1
name = "reread"
extends = "everything"

[[layer]]
name = "found"
rerank = 10
score = { fusion = 0.5, rerank = 0.5 }
"""
TALK = """\
Anna: I moved from Bergen to Oslo in May.
Assistant: How do you like it?
Anna: Very much. By the way, I am allergic to peanuts.
"""
CASES = [
    {"situation": {"forecast": "heavy rain all day"}, "condition": "it rains today", "holds": True},
    {"situation": {"forecast": "clear sky, no clouds"}, "condition": "it rains today", "holds": False},
]

# Long enough to be worth a summary, short enough for a tiny model.
PAGE = [
    f"Room {n} of the house was painted white in spring by two people, and its floor was sanded and oiled afterwards."
    for n in range(1, 39)
]
# How long the tiny model may take for a summary, and a change of the model for a few texts.
SUMMARY_SECONDS = 150
CHANGE_SECONDS = 120

failures = []


def check(name, holds, shown=""):
    print(f"  {'ok  ' if holds else 'FAIL'} {name}{': ' if shown else ''}{shown}", flush=True)
    if not holds:
        failures.append(name)


def run(data, *arguments, expect=(0,), text=None):
    command = [str(BINARY), *map(str, arguments), "--data", str(data)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode not in expect:
        print(f"  `{' '.join(map(str, arguments))}` ended with {done.returncode}: {done.stderr.strip()[-600:]}")
    return done


def usage(pack, role):
    return pack.get("assembly", {}).get("models", {}).get(role, {})


def notices(pack):
    return [notice["code"] for notice in pack.get("assembly", {}).get("notices", [])]


def says_why(error):
    """Whether an error names the model, or the setting that would have let it finish."""
    return "smollm2" in error or "raise max_tokens" in error


def from_the_command_line(data, files, has):
    done = run(data, "model", "test", "--json", expect=(0, 1))
    for report in json.loads(done.stdout):
        check(f"model test {report['role']}", report["error"] is None,
              f"{report['found'] or report['error']}; {report['ms']} ms; {report['url']}")
    done = run(data, "add", files / "notes")
    check("add", done.returncode == 0, done.stdout.strip().splitlines()[-1] if done.stdout else "")
    pack = json.loads(run(data, "pack", "Where is the kettle?", "--budget", 400, "--json").stdout)
    check("pack finds by words and meaning", "stove" in pack["context"] and "DEGRADED" not in notices(pack),
          json.dumps(usage(pack, "embed")))
    replay = run(data, "replay", pack["assembly"]["receipt"])
    check("replay gives the same bytes", replay.returncode == 0, replay.stdout.strip().splitlines()[0])
    if "rerank" in has:
        done = run(data, "pack", "When does the ferry sail?", "--recipe", files / "reread.toml", "--json")
        pack = json.loads(done.stdout)
        check("rerank", usage(pack, "rerank").get("calls", 0) > 0, json.dumps(usage(pack, "rerank")))
    run(data, "contexts", files / "contexts")
    done = run(data, "pack", "", "--recipe", "situation", "--context", "walk", "--situation",
               json.dumps({"forecast": "showers in the evening"}), "--json")
    pack = json.loads(done.stdout)
    rules = [rule for rule in pack.get("rules", []) if rule.get("judge") not in ("always", "cel")]
    judged = [f"{rule['rule']}: {rule['answer']} ({rule.get('reason', 'no reason')})" for rule in rules]
    by_model = bool(rules) and all(rule["judge"] != "local" for rule in rules)
    check("judge", by_model, f"{'; '.join(judged)}; {json.dumps(usage(pack, 'judge'))}")
    done = run(data, "recipe", "judge-eval", files / "cases.jsonl")
    check("judge-eval", done.returncode == 0)
    print("      " + done.stdout.strip().replace("\n", "\n      "))
    done = run(data, "remember", "--from", files / "talk.txt", "--dry-run", "--json", expect=(0, 1, 2))
    found = [memory["content"] for memory in json.loads(done.stdout or "{}").get("memories", [])]
    # A model of this size may not find an end or the shape; then the error names it and says what is wrong.
    is_clear = "model_error" in done.stderr and says_why(done.stderr)
    check("remember --from --dry-run", '"memories"' in done.stdout or is_clear,
          " | ".join(found) or done.stderr.strip()[-200:])


def page_summary(ask, seconds):
    """Asks about a long page until its summary is there."""
    items = [{"id": "house", "kind": "page", "title": "The house"}]
    items += [{"id": f"room-{n}", "kind": "text", "parent": "house", "position": n, "body": text}
              for n, text in enumerate(PAGE)]
    ask("items", items)
    request = {"query": "summarise this page", "focus": {"pageId": "house"}, "tokenBudget": 900}
    until = time.monotonic() + seconds
    while True:
        pack = ask("context/workspace", request)
        found = re.search(r"\(Summary of this page by [^)]*@[^)]*\)[^\n]*", pack.get("context", ""))
        if found or time.monotonic() > until:
            return pack, found
        time.sleep(2)


def change_model(ask, name, seconds):
    """Changes the embedding model and counts the packs that were made meanwhile."""
    ask("model", {"name": name}, "PUT")
    until, packs = time.monotonic() + seconds, 0
    while True:
        pack = ask("context/everything", {"query": f"Where is the kettle, take {packs}?", "tokenBudget": 400})
        packs += "stove" in pack.get("context", "")
        status = ask("model", None, "GET")
        if not status.get("change") or status["change"].get("failure") or time.monotonic() > until:
            return status, packs
        time.sleep(0.2)


def change_while_serving(data, ask):
    """To the built-in model and back, while the server answers. It reads the data folder's settings anew."""
    settings = data / "models.toml"
    original = settings.read_text()
    before = ask("model", None, "GET").get("model")
    try:
        settings.write_text(re.sub(r"(?ms)^\[models\.embed\].*?(?=^\[|\Z)", "", original))
        status, packs = change_model(ask, "built-in", CHANGE_SECONDS)
        changed = status.get("model", "")
        check("HTTP change to the built-in model", changed != before and not status.get("change") and packs > 0,
              f"{before} to {changed}, {packs} packs meanwhile")
        pack = ask("context/everything", {"query": "Who services the boiler?", "tokenBudget": 400})
        check("HTTP pack after the change", "Nils Aas" in pack.get("context", "") and not usage(pack, "embed"))
    finally:
        settings.write_text(original)
    status, packs = change_model(ask, "embed", CHANGE_SECONDS)
    check("HTTP change back to the provider's", status.get("model") == before and packs > 0, f"{packs} packs meanwhile")
    pack = ask("context/everything", {"query": "Where do dogs travel free?", "tokenBudget": 400})
    used = usage(pack, "embed")
    # An earlier run with the same Redis may have asked the same question.
    check("HTTP pack by the provider again", used.get("calls", 0) + used.get("cacheHits", 0) > 0, json.dumps(used))


def over_http(data, has):
    server = subprocess.Popen([str(BINARY), "serve", "--listen", "127.0.0.1:0", "--data", str(data)],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        url = re.search(r"http://\S+", server.stdout.readline()).group(0)

        def post(path, body, method="POST"):
            content = None if body is None else json.dumps(body).encode()
            request = urllib.request.Request(f"{url}/v1/workspaces/default/{path}", content,
                                             {"content-type": "application/json"}, method=method)
            try:
                with urllib.request.urlopen(request, timeout=120) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                return json.load(error)

        pack = post("context/everything", {"query": "Who is the plumber?", "tokenBudget": 400})
        check("HTTP pack", "Nils Aas" in pack["context"], json.dumps(usage(pack, "embed")))
        pack = post("context/situation", {"currentContext": "walk", "situation": {"forecast": "frost"}})
        judges = sorted({rule["judge"] for rule in pack.get("rules", [])})
        check("HTTP judge", any("@" in judge for judge in judges), ", ".join(judges))
        found = post("memories/extract", {"conversation": [{"role": "user", "content": TALK}], "dryRun": True})
        detail = found.get("detail", "")
        is_clear = found.get("code") == "model_error" and says_why(detail)
        check("HTTP extract", "memories" in found or is_clear,
              detail or f"{len(found['memories'])} memories by {found['model']}")
        if "[models.summarise]" in has:
            pack, summary = page_summary(post, SUMMARY_SECONDS)
            # A model of this size may not find an end; then the pack says that there is no summary.
            is_clear = "NOT_SUMMARISED" in notices(pack)
            check("HTTP summary of a page", bool(summary) or is_clear, summary.group(0) if summary else "none was made")
        if "[models.embed]" in has:
            change_while_serving(data, post)
    finally:
        server.terminate()
        server.wait(timeout=20)


def shared_cache(folder, settings, files):
    """Two data folders with one Redis: the second embeds nothing again, another workspace everything."""
    def calls(data, workspace):
        run(data, "model", "set", settings)
        run(data, "add", files / "notes", "--workspace", workspace)
        done = run(data, "pack", "Where is the ferry?", "--json", "--workspace", workspace)
        return usage(json.loads(done.stdout), "embed")

    first = calls(folder / "one", "tenant")
    second = calls(folder / "two", "tenant")
    other = calls(folder / "three", "stranger")
    check("shared cache in Redis", first.get("calls") == 1 and second.get("calls", 0) == 0
          and second.get("cacheHits", 0) > 0, f"{json.dumps(first)} then {json.dumps(second)}")
    check("another workspace gets nothing of it", other.get("calls") == 1, json.dumps(other))


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        files = folder / "files"
        for part in ("notes", "contexts"):
            (files / part).mkdir(parents=True)
        for name, text in NOTES.items():
            (files / "notes" / name).write_text(text)
        (files / "contexts" / "walk.yaml").write_text(CONTEXTS)
        for name, text in HELPERS.items():
            (files / "contexts" / f"{name}.yaml").write_text(text)
        (files / "reread.toml").write_text(RECIPE)
        (files / "talk.txt").write_text(TALK)
        (files / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in CASES))
        for settings in sorted(SETTINGS.glob("*.toml")):
            print(settings.stem)
            data = folder / settings.stem
            done = run(data, "model", "set", settings)
            check("model set", done.returncode == 0, done.stdout.strip().splitlines()[0])
            shown = run(data, "model", "config").stdout
            check("config shows no key", os.environ.get("LITELLM_LOOPBACK_KEY", "?") not in shown)
            from_the_command_line(data, files, settings.read_text())
            over_http(data, settings.read_text())
        print("shared cache")
        shared_cache(folder, SETTINGS / "direct.toml", files)
    print(f"{len(failures)} failures" + (": " + ", ".join(failures) if failures else ""))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
