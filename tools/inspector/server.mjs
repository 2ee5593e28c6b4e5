// A real server on a free port, and what is asked of it beside the page.

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const binary = process.env.HAVERSACK_BIN;

/** Starts a server; with `auth` set to `keys` it asks for keys. */
export async function start(auth = "auto") {
  const folder = mkdtempSync(join(tmpdir(), "haversack-inspector-"));
  const options = ["serve", "--listen", "127.0.0.1:0", "--data", folder];
  const environment = { ...process.env, HAVERSACK_SERVER_AUTH: auth };
  const child = spawn(binary, options, { env: environment, stdio: ["ignore", "pipe", "ignore"] });
  const ended = new Promise((resolve) => child.on("exit", resolve));
  const url = await new Promise((resolve, reject) => {
    let said = "";
    child.stdout.on("data", (piece) => {
      said += piece;
      const found = /^haversack listens on (http:\S+)$/m.exec(said);
      if (found) resolve(found[1]);
    });
    ended.then((code) => reject(new Error(`the server ended with ${code}`)));
  });
  return {
    url,
    key: (scope = "admin") =>
      execFileSync(binary, ["key", "create", `test-${scope}`, "--scope", scope, "--data", folder], {
        encoding: "utf8",
      }).trim(),
    async ask(method, path, body, headers = {}) {
      const response = await fetch(url + path, {
        method,
        headers: { "content-type": "application/json", ...headers },
        body: body === undefined ? undefined : JSON.stringify(body),
      });
      const text = await response.text();
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
      return text ? JSON.parse(text) : null;
    },
    async stop() {
      child.kill("SIGTERM");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
