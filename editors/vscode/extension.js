// Starts the language server `vlad lsp`, and runs programs in a terminal.
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;
let turn = Promise.resolve(); // a start or a stop waits for the one before: a client that is starting cannot be stopped
let latest = 0;

function settings() {
  return vscode.workspace.getConfiguration("vlad");
}

async function start(number) {
  const command = settings().get("command");
  const starting = new LanguageClient(
    "vlad",
    "vlad",
    { command, args: ["lsp"] },
    {
      documentSelector: [{ language: "vlad" }],
      initializationOptions: { types: settings().get("types") },
    },
  );
  try {
    await starting.start();
    client = starting;
  } catch (error) {
    if (number === latest) {
      report(command, error);
    }
  }
}

async function report(command, error) {
  const reason = error?.message ? `: ${error.message}` : "";
  const choice = await vscode.window.showErrorMessage(
    `${command} lsp does not start${reason}. It needs the Python package pygls: pip install pygls. ` +
      "If vlad is in a virtual environment, set vlad.command to its path.",
    "Open Settings",
  );
  if (choice) {
    vscode.commands.executeCommand("workbench.action.openSettings", "vlad.command");
  }
}

async function stop() {
  const stopped = client;
  client = undefined;
  await stopped?.stop().catch(() => {}); // a server that has ended needs no more
}

function restart() {
  const number = ++latest;
  turn = turn.then(stop).then(() => start(number));
  return turn;
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
    vscode.commands.registerCommand("vlad.restart", restart),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("vlad")) {
        restart();
      }
    }),
  );
  await restart();
};

exports.deactivate = () => turn.then(stop);
