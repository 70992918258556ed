module respipe

go 1.26
