module rsmsjob/bicepcheck

go 1.26.0

require (
	github.com/tree-sitter-grammars/tree-sitter-bicep v1.1.0
	github.com/tree-sitter/go-tree-sitter v0.24.0
	rsmsjob v0.0.0-00010101000000-000000000000
)

require (
	github.com/joho/godotenv v1.5.1 // indirect
	github.com/mattn/go-pointer v0.0.1 // indirect
	github.com/sethvargo/go-envconfig v1.4.3 // indirect
)

replace rsmsjob => ../..
