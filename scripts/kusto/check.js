// Reads queries and says what is wrong in them, with no Azure.
//
//   node check.js FOLDER    where the language service is installed
//
// Standard input: {"tables": {"Name": "(Column:type, ...)"}, "queries": ["..."]}.
// Standard output: for each query a list of {"at", "code", "text"}; at is the
// character that it begins with, from 0. Names must be those of the tables.
'use strict';

const path = require('node:path');

const service = path.join(path.resolve(process.argv[2]), 'node_modules', '@kusto', 'language-service-next');
require(path.join(service, 'bridge.min.js'));
require(path.join(service, 'Kusto.Language.Bridge.min.js'));

const { KustoCode, GlobalState, Symbols } = globalThis.Kusto.Language;

function globals(tables) {
  const symbols = Object.entries(tables).map(([name, columns]) => Symbols.TableSymbol.From(columns).WithName(name));
  return GlobalState.Default.WithDatabase(new Symbols.DatabaseSymbol.ctor('logs', symbols));
}

function problems(query, state) {
  const found = KustoCode.ParseAndAnalyze(query, state).GetDiagnostics();
  const list = [];
  for (let i = 0; i < found.Count; i++) {
    const d = found.getItem(i);
    if (d.Severity === 'Error' || d.Severity === 'Warning') {
      list.push({ at: d.Start, code: d.Code, text: d.Message });
    }
  }
  return list;
}

const chunks = [];
process.stdin.on('data', (chunk) => chunks.push(chunk));
process.stdin.on('end', () => {
  const asked = JSON.parse(Buffer.concat(chunks).toString('utf8'));
  const state = globals(asked.tables);
  process.stdout.write(JSON.stringify(asked.queries.map((query) => problems(query, state))));
});
