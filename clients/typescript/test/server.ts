// A real server for the tests: $HAVERSACK_BIN serve, on a free port, with a fresh data folder.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export interface Server {
  url: string;
  key(...args: string[]): string;
  stop(): Promise<void>;
}

/** Starts a server; its first line says where it listens. */
export async function start(environment: Record<string, string> = {}): Promise<Server> {
  const binary = process.env["HAVERSACK_BIN"];
  if (!binary) throw new Error("set HAVERSACK_BIN to the haversack program");
  const data = mkdtempSync(join(tmpdir(), "haversack-"));
  const child = spawn(binary, ["serve", "--listen", "127.0.0.1:0", "--data", data], {
    stdio: ["ignore", "pipe", "ignore"],
    env: { ...process.env, ...environment },
  });
  const ended = new Promise<void>((done) => child.once("exit", () => done()));
  const url = await new Promise<string>((found, failed) => {
    createInterface(child.stdout).once("line", (line) => {
      const address = /http:\/\/\S+/.exec(line)?.[0];
      if (address === undefined) failed(new Error(`the server said ${line}`));
      else found(address);
    });
    child.once("exit", (code) => failed(new Error(`the server ended with ${code}`)));
  });
  return {
    url,
    key: (...args) =>
      execFileSync(binary, ["key", "create", "--data", data, ...args], {
        encoding: "utf8",
        stdio: ["ignore", "pipe", "ignore"],
      }).trim(),
    stop: async () => {
      child.kill("SIGTERM");
      await ended;
      rmSync(data, { recursive: true, force: true });
    },
  };
}
