// Writes src/schema.ts from a running server's OpenAPI document, or from a file:
//   npm run schema -- http://127.0.0.1:7077/openapi.json
import { readFile, writeFile } from "node:fs/promises";
import { types } from "./types.mjs";

const from = process.argv[2] ?? "http://127.0.0.1:7077/openapi.json";
const text = from.startsWith("http") ? await (await fetch(from)).text() : await readFile(from, "utf8");
await writeFile(new URL("../src/schema.ts", import.meta.url), await types(JSON.parse(text)));
