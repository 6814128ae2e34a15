package faultproxy

import (
	"net/http"
	"strings"
)

// Operation is what a request asks of its service.
type Operation string

// What the worker asks; everything else is Other.
const (
	Other Operation = "Other"

	QueueList       Operation = "QueueList"
	QueueCreate     Operation = "QueueCreate"
	QueueDrop       Operation = "QueueDrop" // the queue itself
	QueueProperties Operation = "QueueProperties"
	QueueReceive    Operation = "QueueReceive"
	QueuePeek       Operation = "QueuePeek"
	QueueSend       Operation = "QueueSend"
	QueueUpdate     Operation = "QueueUpdate"
	QueueDelete     Operation = "QueueDelete" // one message
	QueueClear      Operation = "QueueClear"

	TableList        Operation = "TableList"
	TableCreate      Operation = "TableCreate"
	TableDrop        Operation = "TableDrop"
	TableTransaction Operation = "TableTransaction"
	EntityGet        Operation = "EntityGet"
	EntityQuery      Operation = "EntityQuery"
	EntityInsert     Operation = "EntityInsert"
	EntityMerge      Operation = "EntityMerge"
	EntityReplace    Operation = "EntityReplace"
	EntityDelete     Operation = "EntityDelete"

	ContainerList       Operation = "ContainerList"
	ContainerCreate     Operation = "ContainerCreate"
	ContainerDrop       Operation = "ContainerDrop"
	ContainerProperties Operation = "ContainerProperties"
	BlobList            Operation = "BlobList"
	BlobPut             Operation = "BlobPut" // in one piece
	BlobPutBlock        Operation = "BlobPutBlock"
	BlobCommit          Operation = "BlobCommit" // of blocks
	BlobAppend          Operation = "BlobAppend"
	BlobGet             Operation = "BlobGet"
	BlobProperties      Operation = "BlobProperties"
	BlobDelete          Operation = "BlobDelete"
)

// operation names a request; path is without the account.
func operation(service string, r *http.Request, path string) Operation {
	var ops map[string]Operation
	switch service {
	case Queue:
		ops = queueOperations(path)
	case Table:
		ops = tableOperations(path)
	case Blob:
		ops = blobOperations(path)
	}
	query := r.URL.Query()
	key := r.Method
	if query.Get("restype") == "container" {
		key += " container"
	}
	if comp := query.Get("comp"); comp != "" {
		key += " " + comp
	}
	if query.Get("peekonly") == "true" {
		key += " peek"
	}
	if op, ok := ops[key]; ok {
		return op
	}
	return Other
}

// The maps below are from "METHOD [container] [comp] [peek]" to the operation
// at that kind of path.

func queueOperations(path string) map[string]Operation {
	queue, rest, _ := strings.Cut(strings.Trim(path, "/"), "/")
	switch {
	case queue == "":
		return map[string]Operation{"GET list": QueueList}
	case rest == "":
		return map[string]Operation{"PUT": QueueCreate, "DELETE": QueueDrop, "GET metadata": QueueProperties, "HEAD metadata": QueueProperties}
	case rest == "messages":
		return map[string]Operation{"GET": QueueReceive, "GET peek": QueuePeek, "POST": QueueSend, "DELETE": QueueClear}
	}
	return map[string]Operation{"PUT": QueueUpdate, "DELETE": QueueDelete}
}

func tableOperations(path string) map[string]Operation {
	name := strings.Trim(path, "/")
	switch {
	case name == "$batch":
		return map[string]Operation{"POST": TableTransaction}
	case name == "Tables" || name == "Tables()":
		return map[string]Operation{"GET": TableList, "POST": TableCreate}
	case strings.HasPrefix(name, "Tables("):
		return map[string]Operation{"DELETE": TableDrop}
	case strings.Contains(name, "(") && !strings.HasSuffix(name, "()"):
		return map[string]Operation{"GET": EntityGet, "PATCH": EntityMerge, "MERGE": EntityMerge, "PUT": EntityReplace, "DELETE": EntityDelete}
	}
	return map[string]Operation{"GET": EntityQuery, "POST": EntityInsert}
}

func blobOperations(path string) map[string]Operation {
	container, blob, _ := strings.Cut(strings.Trim(path, "/"), "/")
	switch {
	case container == "":
		return map[string]Operation{"GET list": ContainerList}
	case blob == "":
		return map[string]Operation{"PUT container": ContainerCreate, "DELETE container": ContainerDrop,
			"GET container": ContainerProperties, "HEAD container": ContainerProperties, "GET container list": BlobList}
	}
	return map[string]Operation{"PUT": BlobPut, "PUT block": BlobPutBlock, "PUT blocklist": BlobCommit, "PUT appendblock": BlobAppend,
		"GET": BlobGet, "HEAD": BlobProperties, "DELETE": BlobDelete}
}
