// Serve the skills of a folder on standard input and output with the official TypeScript server.
//
//   node serve_skills.mjs FOLDER [SKILLS IN A PAGE]
import { McpServer } from "@modelcontextprotocol/server";
import { loadSkills } from "@modelcontextprotocol/server/ext/skills/node";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const [folder, pageSize = "100"] = process.argv.slice(2);
const skills = await loadSkills(folder, { pageSize: Number(pageSize) });
serveStdio(() => {
  const server = new McpServer({ name: "typescript", version: "1" });
  skills.attach(server);
  return server;
});
