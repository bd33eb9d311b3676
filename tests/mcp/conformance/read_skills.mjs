// Read all skills of a server with the official TypeScript client, which verifies each file, and print them as JSON.
//
//   node read_skills.mjs ERA URL | ERA COMMAND ARGUMENT...      ERA is "modern" or "older"
import { createHash } from "node:crypto";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { SkillsClient } from "@modelcontextprotocol/client/ext/skills";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [era, target, ...args] = process.argv.slice(2);
const mode = era === "modern" ? { pin: "2026-07-28" } : "legacy";
const client = new Client({ name: "reader", version: "1" }, { versionNegotiation: { mode } });
const skills = new SkillsClient(client);
await client.connect(
  /^https?:/.test(target)
    ? new StreamableHTTPClientTransport(new URL(target))
    : new StdioClientTransport({ command: target, args, stderr: "inherit" }),
);

async function children(uri) {
  const { resources } = await skills.readDirectory(uri);
  return resources.map((child) => child.uri).sort();
}

const result = {};
for (const skill of (await skills.list()).skills) {
  const { skill: same } = await skills.get(skill.uri);
  const files = {};
  for (const file of same.resources) {
    const read = await skills.read(skill, file.uri);
    if (!read.verified) throw new Error(`not verified: ${file.uri}`);
    files[file.uri] = createHash("sha256").update(read.bytes).digest("hex");
  }
  const top = skill.uri.slice(0, -"/SKILL.md".length);
  result[skill.uri] = { frontmatter: same.frontmatter, files, children: skills.directoryRead ? await children(top) : null };
}
console.log(JSON.stringify(result));
await client.close();
