// Starts the language server `vlad lsp`, and runs programs in a terminal.
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function settings() {
  return vscode.workspace.getConfiguration("vlad");
}

async function start() {
  const command = settings().get("command");
  client = new LanguageClient(
    "vlad",
    "vlad",
    { command, args: ["lsp"] },
    {
      documentSelector: [{ language: "vlad" }],
      initializationOptions: { types: settings().get("types") },
    },
  );
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    const choice = await vscode.window.showErrorMessage(
      `${command} lsp does not start: ${error.message}. It needs the Python package pygls: pip install pygls. If vlad is in a virtual environment, set vlad.command.`,
      "Open Settings",
    );
    if (choice) {
      vscode.commands.executeCommand("workbench.action.openSettings", "vlad.command");
    }
  }
}

async function stop() {
  const stopped = client;
  client = undefined;
  await stopped?.stop();
}

async function run() {
  const document = vscode.window.activeTextEditor?.document;
  if (document === undefined || !(await document.save())) {
    return;
  }
  const task = new vscode.Task(
    { type: "vlad" },
    vscode.TaskScope.Workspace,
    document.fileName,
    "vlad",
    new vscode.ProcessExecution(settings().get("command"), [document.fileName]),
  );
  vscode.tasks.executeTask(task);
}

exports.activate = async (context) => {
  context.subscriptions.push(
    vscode.commands.registerCommand("vlad.run", run),
    vscode.commands.registerCommand("vlad.restart", async () => {
      await stop();
      await start();
    }),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration("vlad")) {
        await stop();
        await start();
      }
    }),
  );
  await start();
};

exports.deactivate = stop;
