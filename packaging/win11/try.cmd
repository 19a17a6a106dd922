@echo off
rem try.cmd [TESTS...]: everything that README.txt asks for, into the folder "results". Without names: all tests.
setlocal
cd /d "%~dp0"
if not exist results mkdir results
set TESTS=%*
if "%TESTS%"=="" set TESTS=--all

echo 1 of 5: the system and its own UMS
ver > results\1-system.txt
umstest.exe --impl=system types completion_list >> results\1-system.txt 2>&1
echo status %ERRORLEVEL% >> results\1-system.txt

echo 2 of 5: what the shim says of itself
if exist umsinfo.exe umsinfo.exe > results\2-umsinfo.txt 2>&1
if exist umsinfo.exe echo status %ERRORLEVEL% >> results\2-umsinfo.txt

echo 3 of 5: two programs under the launcher
set UMS_LOG=info
set UMS_LOG_FILE=%~dp0results\3-log.txt
umsrun.exe hello_ums.exe > results\3-programs.txt 2>&1
echo status %ERRORLEVEL% >> results\3-programs.txt
umsrun.exe umsdemo.exe --timeout=300 >> results\3-programs.txt 2>&1
echo status %ERRORLEVEL% >> results\3-programs.txt
set UMS_LOG=
set UMS_LOG_FILE=

echo 4 of 5: the conformance suite on the shim, some minutes
umstest.exe --impl=shim %TESTS% > results\4-shim.txt 2>&1
echo status %ERRORLEVEL% >> results\4-shim.txt

echo 5 of 5: the same as a legacy program under the launcher
umsrun.exe umstest_bound.exe %TESTS% > results\5-bound.txt 2>&1
echo status %ERRORLEVEL% >> results\5-bound.txt

echo done: please send the files in the folder "results" as they are
exit /b 0
