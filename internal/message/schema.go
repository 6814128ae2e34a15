package message

// Schema returns the JSON Schema (draft 2020-12) of a message.
func Schema() []byte { return []byte(schema) }

const schema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "rsms-job message",
  "description": "Text of a queue message: this as JSON, or standard base64 of it. At most 49152 bytes of JSON, 64 levels deep.",
  "type": "object",
  "properties": {
    "type": {
      "description": "What to do: run a scenario, or check the deployment from inside.",
      "enum": ["rsms.run", "worker.probe", null],
      "default": "rsms.run"
    },
    "version": {
      "enum": [1, null],
      "default": 1
    },
    "riverbasin_id": {
      "description": "The basin: a folder of the basin container. An integer counts as its digits.",
      "$ref": "#/$defs/id"
    },
    "scenario_id": {
      "description": "The scenario: a row of the scenario table. An integer counts as its digits.",
      "$ref": "#/$defs/id"
    },
    "job_id": {
      "description": "Name of this job; otherwise derived from the id of the queue message.",
      "type": ["string", "null"],
      "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"
    },
    "force": {
      "description": "Run although the result is current.",
      "type": ["boolean", "null"],
      "default": false
    },
    "timeout_seconds": {
      "description": "Time limit of the job, capped by RSMS_JOB_TIMEOUT_SEC.",
      "type": ["integer", "null"],
      "minimum": 1,
      "maximum": 86400
    }
  },
  "additionalProperties": {
    "description": "Metadata: kept in the run record, never interpreted. At most 8192 bytes in all."
  },
  "if": {
    "properties": {"type": {"const": "worker.probe"}},
    "required": ["type"]
  },
  "else": {
    "required": ["riverbasin_id", "scenario_id"],
    "properties": {
      "riverbasin_id": {"type": ["string", "integer"]},
      "scenario_id": {"type": ["string", "integer"]}
    }
  },
  "$defs": {
    "id": {
      "type": ["string", "integer", "null"],
      "minimum": 0,
      "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$",
      "not": {"type": "string", "pattern": "\\.\\."}
    }
  }
}
`
