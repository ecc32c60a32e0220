from tessera._command import main

main()
