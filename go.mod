module rsmsjob

go 1.26
