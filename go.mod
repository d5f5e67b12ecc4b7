module fairlead.dev/fairlead

go 1.26.0
